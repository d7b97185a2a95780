/**
 * Deadlines are of two kinds, since the store keeps them in two ways: those within an hour of their write share
 * entries of its index, the others have one each.
 */
export interface DeadlineKind {
  /** For the titles and for programs. */
  readonly name: "within an hour" | "beyond an hour";
  /** Seconds that the documents live. */
  readonly ttl: number;
  /** Milliseconds after which all of them have expired, however long loading took. */
  readonly skipMs: number;
  /** Seconds that the claims live: they must not expire, too. Their deadlines are of the same kind. */
  readonly claimTtl: number;
  /** Milliseconds that a trickling expiry can be put off, without becoming one of the other kind. */
  readonly trickleSkipMs: number;
}

export const deadlineKinds: readonly DeadlineKind[] = [
  { name: "within an hour", ttl: 900, skipMs: 900_000, claimTtl: 3_600, trickleSkipMs: 0 },
  { name: "beyond an hour", ttl: 7_200, skipMs: 7_200_000, claimTtl: 10_800, trickleSkipMs: 3_600_000 },
];
