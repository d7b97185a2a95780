import type { CheckedList } from "../src/documents/requests-read.js";

/** Where the client's requests go. Ids are percent-encoded, so that any id that the store takes can be reached. */

export const batchPath = "/v1/batch";
export const getManyPath = "/v1/get-many";

export function documentPath(shape: string, id: string): string {
  return `/v1/documents/${shape}/${encodeId(id)}`;
}

export function listPath(list: CheckedList): string {
  return (
    `/v1/documents/${list.shape}` +
    query([
      ["prefix", list.prefix === "" ? undefined : list.prefix],
      ["after", list.after],
      ["until", list.until],
      ["reverse", list.reverse ? "true" : undefined],
      ["limit", list.limit],
    ])
  );
}

/** What a stream of changes shows, and from where. */
export interface ChangesPosition {
  readonly shape: string | undefined;
  readonly id: string | undefined;
  readonly prefix: string | undefined;
  readonly since: number | undefined;
}

export function changesPath(position: ChangesPosition): string {
  return (
    "/v1/changes" +
    query([
      ["shape", position.shape],
      ["id", position.id],
      ["prefix", position.prefix],
      ["since", position.since],
    ])
  );
}

/** `.` and `..` are dot segments, which whatever stands on the way may fold away; encoded they are not in raw form. */
function encodeId(id: string): string {
  if (id === ".") return "%2E";
  if (id === "..") return "%2E%2E";
  return encodeURIComponent(id);
}

function query(members: readonly (readonly [string, string | number | undefined])[]): string {
  let text = "";
  for (const [name, value] of members) {
    if (value === undefined) continue;
    text += `${text === "" ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}
