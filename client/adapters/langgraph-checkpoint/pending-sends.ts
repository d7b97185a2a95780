import type { PendingWrite, SavedCheckpoint } from "./types.js";

/** The channel of messages to nodes. */
const sendsChannel = "__pregel_tasks";

/**
 * A checkpoint of before version 4 as one of today: what its parent's tasks sent to nodes, which stood in their writes alone,
 * stands in a channel of its own.
 *
 * @param ofParent the writes of the parent's tasks
 */
export function withPendingSends(checkpoint: SavedCheckpoint, ofParent: readonly PendingWrite[]): SavedCheckpoint {
  const sends = ofParent.filter(([, channel]) => channel === sendsChannel).map(([, , value]) => value);
  const versions = Object.values(checkpoint.channel_versions);
  const newest = versions.reduce<number | string | undefined>((max, each) => {
    return max === undefined || isNewer(each, max) ? each : max;
  }, undefined);
  return {
    ...checkpoint,
    channel_values: { ...checkpoint.channel_values, [sendsChannel]: sends },
    channel_versions: { ...checkpoint.channel_versions, [sendsChannel]: newest ?? 1 },
  };
}

function isNewer(version: number | string, than: number | string): boolean {
  if (typeof version === "number" && typeof than === "number") return version > than;
  return String(version).localeCompare(String(than)) > 0;
}
