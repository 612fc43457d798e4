import { createHmac } from "node:crypto";
import { writeJson } from "../schema/exact_json.ts";
import type { ColumnInfo, Row } from "../schema/table_info.ts";

/** How the tags of a resource are made, every default settled. */
export interface EtagPolicy {
  readonly versionField: ColumnInfo | null;
  readonly updatedAtField: ColumnInfo | null;
  readonly idField: ColumnInfo;
  readonly algorithm: "weak" | "strong";
  /** Whether a write without `If-Match` is refused. */
  readonly require: boolean;
  /** Keys the hash of rows without version: nobody can guess hidden values from a tag. */
  readonly hashKey: string;
}

/**
 * The tag of a whole row (RFC 9110, 8.8.3): by version where the row has one, else by id and time
 * of update, else by a keyed hash. The same state always has the same tag.
 */
export function tagOf(row: Row, policy: EtagPolicy): string {
  const opaque = `"${opaqueOf(row, policy)}"`;
  return policy.algorithm === "weak" ? `W/${opaque}` : opaque;
}

/**
 * Whether `If-Match` lets a write through: a listed tag must be the current one byte for byte,
 * weakness mark included. Strong comparison (RFC 9110, 13.1.1) would never let a weak tag through,
 * and weak ones are the default.
 */
export function passesIfMatch(header: string, current: string): boolean {
  return header.trim() === "*" || listedTags(header).includes(current);
}

/** Whether `If-None-Match` names the current tag: weak comparison (RFC 9110, 13.1.2). */
export function namesTag(header: string, current: string): boolean {
  if (header.trim() === "*") return true;
  return listedTags(header).some((tag) => withoutWeakness(tag) === withoutWeakness(current));
}

function opaqueOf(row: Row, policy: EtagPolicy): string {
  const version = policy.versionField === null ? null : row[policy.versionField.name] ?? null;
  if (version !== null) return headerSafe(String(version), policy);
  const updatedAt = policy.updatedAtField === null ? null : row[policy.updatedAtField.name] ?? null;
  if (updatedAt !== null) {
    // The punctuation of a timestamp says nothing: its digits, all of them, are the moment.
    const moment = String(updatedAt).replace(/[-:TZ]/g, "");
    return headerSafe(`${row[policy.idField.name]}-${moment}`, policy);
  }
  return hash(writeJson(row), policy);
}

/** Ids and versions come from rows: what could harm a header goes in hashed. */
function headerSafe(text: string, policy: EtagPolicy): string {
  return /^[0-9A-Za-z._-]{1,100}$/.test(text) ? text : hash(text, policy);
}

function hash(text: string, { hashKey }: EtagPolicy): string {
  return createHmac("md5", hashKey).update(text).digest("hex");
}

const longestHeader = 8_192;
const listedTag = /[ \t]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?:,|$)/y;

/** The well-formed tags of a list; anything else in it matches nothing. */
function listedTags(header: string): readonly string[] {
  const tags: string[] = [];
  if (header.length > longestHeader) return tags;
  for (let at = 0; at < header.length;) {
    listedTag.lastIndex = at;
    const tag = listedTag.exec(header)?.[1];
    if (tag === undefined) {
      const comma = header.indexOf(",", at);
      at = comma < 0 ? header.length : comma + 1;
    } else {
      tags.push(tag);
      at = listedTag.lastIndex;
    }
  }
  return tags;
}

function withoutWeakness(tag: string): string {
  return tag.startsWith("W/") ? tag.slice(2) : tag;
}
