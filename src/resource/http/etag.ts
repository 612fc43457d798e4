import { createHmac } from "node:crypto";
import { writeJson } from "../../schema/exact_json.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";

/** The policy by which the ETags of a resource are made, every default resolved. */
export interface EtagPolicy {
  readonly versionField: ColumnInfo | null;
  readonly updatedAtField: ColumnInfo | null;
  readonly idField: ColumnInfo;
  readonly algorithm: "weak" | "strong";
  /** True if a write without `If-Match` is refused. */
  readonly require: boolean;
  readonly primaryKey: readonly ColumnInfo[];
  /** A tag shows the values of these columns alone: it holds a hidden version as a hash. */
  readonly readable: ReadonlySet<ColumnInfo>;
  /** The tags of a caller that may read less than others; null for all other callers. */
  readonly caller: CallerTags | null;
  /** Key the hashes, so that a client cannot test guesses of hidden values against a tag. */
  readonly keys: TagKeys;
}

/** What is different about the tags of a caller that may read less than others. */
export interface CallerTags {
  /** No tag of the caller depends on them, unless the rows have computed fields. */
  readonly withheld: ReadonlySet<ColumnInfo>;
  /** The columns that a hash covers. */
  readonly hashed: readonly ColumnInfo[];
  /** The end of every tag: what a cache has of other fields is another state. */
  readonly ending: string;
}

/** The keys of hashed ETags, one for each secret. */
export interface TagKeys {
  /** Makes the tags. */
  readonly current: Uint8Array;
  /** Recognize the tags that were made before the secret was rotated. */
  readonly older: readonly Uint8Array[];
}

/**
 * The ETag of a whole row (RFC 9110, 8.8.3): by version where the row has one, else by id and time
 * of update, else by a keyed hash. The same state always has the same tag.
 */
export function tagOf(row: Row, policy: EtagPolicy): string {
  const state = stateOf(row, policy);
  return state.isShown
    ? shownTag(state.text, policy)
    : hashTag(state.text, policy.keys.current, policy);
}

/**
 * Returns true if `If-Match` and the row's ETag allow a write: a listed tag must equal the current one byte
 * for byte, `W/` included. Strong comparison (RFC 9110, 13.1.1) would refuse every weak tag, and
 * weak ones are the default.
 */
export function matchesIfMatch(header: string, row: Row, policy: EtagPolicy): boolean {
  if (header.trim() === "*") return true;
  const tags = [...tagsOf(row, policy), ...versionTags(row, policy)];
  return listedTags(header).some((listed) => tags.includes(listed));
}

/** Returns true if `If-None-Match` names the row's ETag: weak comparison (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(header: string, row: Row, policy: EtagPolicy): boolean {
  if (header.trim() === "*") return true;
  const tags = tagsOf(row, policy).map(withoutWeakness);
  return listedTags(header).some((listed) => tags.includes(withoutWeakness(listed)));
}

/** The `If-Match` header of a write, which the ETag of its row must match; null without one. */
export type Precondition = string | null;

/**
 * Parses the `If-Match` precondition of a request, where the resource has ETags. Throws a 428 where
 * one is required.
 */
export function parsePrecondition(header: string | null, { etag }: EtagOwner): Precondition {
  if (etag === null) return null;
  if (header === null && etag.require) {
    throw new Problem(
      "precondition-required",
      "Cannot write without If-Match: send the row's ETag",
    );
  }
  return header;
}

/**
 * The version of the one row state that a precondition allows: where it is a single tag of this
 * service that shows the version of an integer column. Null for any other precondition.
 */
export function integerVersionOf(precondition: Precondition, policy: EtagPolicy): number | null {
  const { versionField: field, readable } = policy;
  if (precondition === null || field?.kind !== "integer" || !readable.has(field)) return null;
  const [, text = ""] = /^(?:W\/)?"(-?\d{1,15})(?:\.[0-9a-f]+)?"$/.exec(precondition) ?? [];
  const version = Number(text);
  const tags = [shownTag(String(version), policy), tag(String(version), policy)];
  return tags.includes(precondition) ? version : null;
}

/**
 * Throws a 412 that carries the current ETag unless the `If-Match` precondition holds for the
 * stored row.
 */
export function requirePrecondition(
  precondition: Precondition,
  row: Row,
  { etag }: EtagOwner,
): void {
  if (precondition === null || etag === null) return;
  if (matchesIfMatch(precondition, row, etag)) return;
  throw preconditionFailed(tagOf(row, etag));
}

/**
 * The 412 of a write whose ETag precondition fails; `currentETag` is null if no row is stored.
 */
export function preconditionFailed(currentETag: string | null): Problem {
  return new Problem("precondition-failed", "The row has changed since you read it", {
    details: { currentETag, suggestion: "Read the row again and repeat the change with its ETag" },
  });
}

/** The part of a resource that preconditions depend on. */
interface EtagOwner {
  /** Null if the resource has no tags. */
  readonly etag: EtagPolicy | null;
}

/** What distinguishes a state of a row from its other states, and whether a tag may show it. */
interface State {
  readonly text: string;
  readonly isShown: boolean;
}

function stateOf(row: Row, policy: EtagPolicy): State {
  const { versionField, updatedAtField, idField, readable, caller } = policy;
  const isSeen = (column: ColumnInfo | null): column is ColumnInfo =>
    column !== null && caller?.withheld.has(column) !== true;
  const version = isSeen(versionField) ? row[versionField.name] ?? null : null;
  if (isSeen(versionField) && version !== null) {
    return shownOrHashed(String(version), readable.has(versionField), row, policy);
  }
  const updatedAt = isSeen(updatedAtField) ? row[updatedAtField.name] ?? null : null;
  if (isSeen(updatedAtField) && updatedAt !== null) {
    // The punctuation of a timestamp is constant: all of its digits are the moment.
    const moment = String(updatedAt).replace(/[-:TZ]/g, "");
    const isReadable = readable.has(updatedAtField) && readable.has(idField);
    return shownOrHashed(`${row[idField.name]}-${moment}`, isReadable, row, policy);
  }
  const hashed = caller === null
    ? row
    : [caller.ending, ...caller.hashed.map(({ name }) => row[name])];
  return { text: writeJson(hashed), isShown: false };
}

/**
 * Ids and versions come from rows: characters that are unsafe in a header are hashed, too. The key
 * of the row is part of the hash: otherwise a client could compare the tags of rows that it may not
 * read with those of a row whose hidden version it controls.
 */
function shownOrHashed(text: string, isReadable: boolean, row: Row, policy: EtagPolicy): State {
  if (isReadable && /^[0-9A-Za-z._-]{1,100}$/.test(text)) return { text, isShown: true };
  const key = policy.primaryKey.map(({ name }) => row[name]);
  const ending = policy.caller === null ? [] : [policy.caller.ending];
  return { text: writeJson([...key, text, ...ending]), isShown: false };
}

/** The current tag, and those that older secrets make of the same state. */
function tagsOf(row: Row, policy: EtagPolicy): readonly string[] {
  const { text, isShown } = stateOf(row, policy);
  if (isShown) return [shownTag(text, policy)];
  const { current, older } = policy.keys;
  return [current, ...older].map((key) => hashTag(text, key, policy));
}

/** A version that the caller may read is the state for a write, whatever fields were read with it. */
function versionTags(row: Row, policy: EtagPolicy): readonly string[] {
  if (policy.caller === null) return [];
  const { text, isShown } = stateOf(row, policy);
  return isShown ? [tag(text, policy)] : [];
}

function shownTag(text: string, policy: EtagPolicy): string {
  return tag(policy.caller === null ? text : text + policy.caller.ending, policy);
}

function hashTag(text: string, key: Uint8Array, policy: EtagPolicy): string {
  return tag(createHmac("md5", key).update(text).digest("hex"), policy);
}

function tag(opaque: string, { algorithm }: EtagPolicy): string {
  return algorithm === "weak" ? `W/"${opaque}"` : `"${opaque}"`;
}

const maxHeaderLength = 8_192;

/** A member of a list, which may be empty (RFC 9110, 5.6.1). */
const listedTag = /[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")?[ \t]*(?:,|$)/y;

/** The tags of a list; none of a malformed list, which therefore matches nothing. */
function listedTags(header: string): readonly string[] {
  const tags: string[] = [];
  if (header.length > maxHeaderLength) return tags;
  for (let at = 0; at < header.length; at = listedTag.lastIndex) {
    listedTag.lastIndex = at;
    const member = listedTag.exec(header);
    if (member === null) return [];
    if (member[1] !== undefined) tags.push(member[1]);
  }
  return tags;
}

function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
