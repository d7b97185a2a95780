/** The last millisecond of the year 9999; behind it ISO 8601 needs more than four digits. */
const fourDigitYearsEnd = 253_402_300_799_999;

const dayMs = 24 * 60 * 60 * 1000;

const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
const threeDigits = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, "0"));

/** The day that was asked for last, and its text up to the `T`. */
let lastDay = Number.NaN;
let lastDate = "";

/**
 * ISO 8601 in UTC, with milliseconds: what `Date.prototype.toISOString` gives. Every document that is read carries three
 * of these, which took more time than decoding its fields. Nearly all of them are of the same day, and the time of the
 * day is four divisions.
 *
 * @param instant whole milliseconds since 1970
 */
export function toIso(instant: number): string {
  if (!(instant >= 0 && instant <= fourDigitYearsEnd)) return new Date(instant).toISOString();
  const day = Math.floor(instant / dayMs);
  if (day !== lastDay) {
    lastDate = new Date(instant).toISOString().slice(0, "2026-01-01T".length);
    lastDay = day;
  }
  const ms = instant - day * dayMs;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = twoDigits[Math.floor(minutes / 60)];
  return `${lastDate}${hours}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}.${threeDigits[ms % 1000]}Z`;
}
