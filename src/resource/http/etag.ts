import { createHmac } from "node:crypto";
import { writeJson } from "../../schema/exact_json.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";

export interface EtagPolicy {
  readonly versionField: ColumnInfo | null;
  readonly updatedAtField: ColumnInfo | null;
  readonly idField: ColumnInfo;
  readonly algorithm: "weak" | "strong";
  readonly require: boolean;
  readonly primaryKey: readonly ColumnInfo[];
  /** The columns that the caller can read. ETags contain other columns only as a hash. */
  readonly readable: ReadonlySet<ColumnInfo>;
  /** The rules for a caller that cannot read all fields; null for every other caller. */
  readonly caller: CallerEtagRules | null;
  /** The secret keys of the hashes in ETags. Without a key, clients could guess hidden values. */
  readonly keys: EtagKeys;
}

export interface CallerEtagRules {
  readonly withheld: ReadonlySet<ColumnInfo>;
  readonly hashed: readonly ColumnInfo[];
  /** The suffix of this caller's ETags: responses with different fields need different ETags. */
  readonly ending: string;
}

export interface EtagKeys {
  readonly current: Uint8Array;
  /** The keys of older secrets, for ETags that clients received before a secret was rotated. */
  readonly older: readonly Uint8Array[];
}

/**
 * Returns a row's ETag (RFC 9110, 8.8.3). It contains the version, or the id and the update time.
 * If the row has no such values, or the caller cannot read them, the ETag contains a keyed hash.
 */
export function tagOf(row: Row, policy: EtagPolicy): string {
  const state = stateOf(row, policy);
  return state.isShown
    ? shownTag(state.text, policy)
    : hashTag(state.text, policy.keys.current, policy);
}

/**
 * Returns true if the header lists the row's ETag. Ignores a suffix that a proxy added to the ETag.
 * Weak ETags match, unlike in RFC 9110, 13.1.1, because the service's ETags are weak by default.
 */
export function matchesIfMatch(header: string, row: Row, policy: EtagPolicy): boolean {
  if (header.trim() === "*") return true;
  const tags = [...tagsOf(row, policy), ...versionTags(row, policy)];
  return listedTags(header).some((listed) => {
    const tag = withoutCompression(listed);
    return tags.includes(policy.algorithm === "strong" ? withoutWeakness(tag) : tag);
  });
}

export function matchesIfNoneMatch(header: string, row: Row, policy: EtagPolicy): boolean {
  return listsTag(header, tagsOf(row, policy));
}

/** Returns true if `If-None-Match` lists one of `tags`, by weak comparison (RFC 9110, 13.1.2). */
export function listsTag(header: string, tags: readonly string[]): boolean {
  if (header.trim() === "*") return true;
  const known = tags.map(withoutWeakness);
  return listedTags(header)
    .some((listed) => known.includes(withoutWeakness(withoutCompression(listed))));
}

export type Precondition = string | null;

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

export function integerVersionOf(precondition: Precondition, policy: EtagPolicy): number | null {
  const { versionField: field, readable } = policy;
  if (precondition === null || field?.kind !== "integer" || !readable.has(field)) return null;
  const [, text = ""] = /^(?:W\/)?"(-?\d{1,15})(?:\.[0-9a-f]+)?"$/.exec(precondition) ?? [];
  const version = Number(text);
  const tags = [shownTag(String(version), policy), tag(String(version), policy)];
  return tags.includes(precondition) ? version : null;
}

export function requirePrecondition(
  precondition: Precondition,
  row: Row,
  { etag }: EtagOwner,
): void {
  if (precondition === null || etag === null) return;
  if (matchesIfMatch(precondition, row, etag)) return;
  throw preconditionFailed(tagOf(row, etag));
}

export function preconditionFailed(currentETag: string | null): Problem {
  return new Problem("precondition-failed", "The row has changed since you read it", {
    details: { currentETag, suggestion: "Read the row again and repeat the change with its ETag" },
  });
}

interface EtagOwner {
  readonly etag: EtagPolicy | null;
}

/** A state of a row. `isShown` is true if ETags contain `text`, false if they contain its hash. */
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
    // The punctuation of a timestamp is constant, so the digits identify the timestamp.
    const moment = String(updatedAt).replace(/[-:TZ]/g, "");
    const isReadable = readable.has(updatedAtField) && readable.has(idField);
    return shownOrHashed(`${row[idField.name]}-${moment}`, isReadable, row, policy);
  }
  const hashed = caller === null
    ? row
    : [caller.ending, ...caller.hashed.map(({ name }) => row[name])];
  return { text: writeJson(hashed), isShown: false };
}

/** The hash includes the key, so that equal ETags of two rows do not reveal equal versions. */
function shownOrHashed(text: string, isReadable: boolean, row: Row, policy: EtagPolicy): State {
  if (isReadable && /^[0-9A-Za-z._-]{1,100}$/.test(text)) return { text, isShown: true };
  const key = policy.primaryKey.map(({ name }) => row[name]);
  const ending = policy.caller === null ? [] : [policy.caller.ending];
  return { text: writeJson([...key, text, ...ending]), isShown: false };
}

function tagsOf(row: Row, policy: EtagPolicy): readonly string[] {
  const { text, isShown } = stateOf(row, policy);
  if (isShown) return [shownTag(text, policy)];
  const { current, older } = policy.keys;
  return [current, ...older].map((key) => hashTag(text, key, policy));
}

/** Returns the ETag for callers with all fields. Writes of other callers accept this ETag, too. */
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

/** One member of a list of ETags. A member may be empty (RFC 9110, 5.6.1). */
const listedTag = /[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")?[ \t]*(?:,|$)/y;

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

/** Removes the compression suffix of Apache or Caddy. No ETag of the service has such a suffix. */
function withoutCompression(tag: string): string {
  return tag.replace(/-(?:br|deflate|gzip|zstd)"$/, '"');
}

function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
