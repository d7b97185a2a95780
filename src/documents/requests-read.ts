import { InvalidRequestError, TooLargeError } from "../base/errors.js";
import type { Limits } from "../base/limits.js";
import type { DocumentKey } from "./contract.js";
import { checkId, checkIdPart, checkShape } from "./names.js";
import {
  checkBoolean,
  checkKnownRevision,
  checkSignal,
  type KnownMembers,
  pathTo,
  readMembers,
  shown,
} from "./request-members.js";
import { kindOf } from "./value-kind.js";

/** A request for a page that was judged, with its defaults filled in. */
export interface CheckedList {
  readonly shape: string;
  /** "" when none was given. */
  readonly prefix: string;
  readonly after: string | undefined;
  readonly until: string | undefined;
  readonly reverse: boolean;
  readonly limit: number;
}

/** A request to watch that was judged. */
export interface CheckedWatch {
  readonly shape: string | undefined;
  readonly id: string | undefined;
  readonly prefix: string | undefined;
  readonly since: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A request to wait that was judged, with its default filled in. */
export interface CheckedWait {
  readonly shape: string;
  readonly id: string;
  readonly after: number | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Documents on a page when the caller does not say. */
const listDocumentsDefault = 100;

/** Seconds that a wait lasts when the caller does not say. */
const waitSecondsDefault = 30;

const listMembers: KnownMembers = new Set(["prefix", "after", "until", "reverse", "limit"]);
const scanMembers: KnownMembers = new Set(["prefix"]);
const watchMembers: KnownMembers = new Set(["shape", "id", "prefix", "since", "signal"]);
const waitMembers: KnownMembers = new Set(["after", "timeout", "signal"]);
const keyMembers: KnownMembers = new Set(["shape", "id"]);

/** Judges the arguments of `list`. An option that is undefined counts as absent. @throws InvalidRequestError */
export function checkList(shape: unknown, options: unknown, limits: Limits): CheckedList {
  const checkedShape = checkShape(shape, "shape");
  const given = readOptions(options, listMembers);
  return {
    shape: checkedShape,
    prefix: optional(given["prefix"], (prefix) => checkIdPart(prefix, "prefix", limits)) ?? "",
    after: optional(given["after"], (after) => checkIdPart(after, "after", limits)),
    until: optional(given["until"], (until) => checkIdPart(until, "until", limits)),
    reverse: optional(given["reverse"], (reverse) => checkBoolean(reverse, "reverse")) ?? false,
    limit:
      optional(given["limit"], (limit) => checkPageLimit(limit, limits)) ??
      Math.min(listDocumentsDefault, limits.listDocumentsMax),
  };
}

/** Judges the arguments of `scan`. An option that is undefined counts as absent. @throws InvalidRequestError */
export function checkScan(shape: unknown, options: unknown, limits: Limits): { shape: string; prefix: string } {
  const checkedShape = checkShape(shape, "shape");
  const given = readOptions(options, scanMembers);
  return {
    shape: checkedShape,
    prefix: optional(given["prefix"], (prefix) => checkIdPart(prefix, "prefix", limits)) ?? "",
  };
}

/** Judges the options of `watch`. @throws InvalidRequestError */
export function checkWatch(options: unknown, limits: Limits): CheckedWatch {
  const given = readOptions(options, watchMembers);
  const checked: CheckedWatch = {
    shape: optional(given["shape"], (shape) => checkShape(shape, "shape")),
    id: optional(given["id"], (id) => checkId(id, "id", limits)),
    prefix: optional(given["prefix"], (prefix) => checkIdPart(prefix, "prefix", limits)),
    since: optional(given["since"], (since) => checkKnownRevision(since, "since")),
    signal: optional(given["signal"], (signal) => checkSignal(signal, "signal")),
  };
  if (checked.id !== undefined && checked.prefix !== undefined) {
    throw new InvalidRequestError("prefix", "cannot be combined with id");
  }
  if (checked.shape === undefined && (checked.id !== undefined || checked.prefix !== undefined)) {
    throw new InvalidRequestError(checked.id === undefined ? "prefix" : "id", "needs shape");
  }
  return checked;
}

/** Judges the arguments of `waitFor`. @throws InvalidRequestError */
export function checkWait(shape: unknown, id: unknown, options: unknown, limits: Limits): CheckedWait {
  const key = { shape: checkShape(shape, "shape"), id: checkId(id, "id", limits) };
  const given = readOptions(options, waitMembers);
  const timeout =
    optional(given["timeout"], (seconds) => checkTimeout(seconds, limits)) ??
    Math.min(waitSecondsDefault, limits.waitSecondsMax);
  return {
    ...key,
    after: optional(given["after"], (after) => checkKnownRevision(after, "after")),
    timeoutMs: Math.round(timeout * 1000),
    signal: optional(given["signal"], (signal) => checkSignal(signal, "signal")),
  };
}

/** Judges the keys of `getMany`; there may be none. @throws InvalidRequestError; TooLargeError over `limits.getManyKeysMax` */
export function checkKeys(keys: unknown, limits: Limits): DocumentKey[] {
  if (!Array.isArray(keys)) throw new InvalidRequestError("keys", `must be an array, not ${kindOf(keys)}`);
  if (keys.length > limits.getManyKeysMax) {
    throw new TooLargeError("keys", `must hold at most ${limits.getManyKeysMax} keys`);
  }
  return Array.from(keys, (key: unknown, index) => {
    const path = `keys[${index}]`;
    const given = readMembers(key, path, "the key", keyMembers);
    return {
      shape: checkShape(given["shape"], pathTo(path, "shape")),
      id: checkId(given["id"], pathTo(path, "id"), limits),
    };
  });
}

function readOptions(options: unknown, known: KnownMembers): { readonly [name: string]: unknown } {
  return options === undefined ? {} : readMembers(options, "", "the options", known);
}

function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined ? undefined : check(value);
}

function checkPageLimit(value: unknown, limits: Limits): number {
  const isValid = typeof value === "number" && Number.isInteger(value) && value >= 1;
  if (!isValid || value > limits.listDocumentsMax) {
    throw new InvalidRequestError(
      "limit",
      `must be an integer from 1 to ${limits.listDocumentsMax}, not ${shown(value)}`,
    );
  }
  return value;
}

function checkTimeout(value: unknown, limits: Limits): number {
  if (typeof value !== "number" || !(value >= 0 && value <= limits.waitSecondsMax)) {
    throw new InvalidRequestError("timeout", `must be 0 to ${limits.waitSecondsMax} seconds, not ${shown(value)}`);
  }
  return value;
}
