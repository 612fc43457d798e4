import type { Rule } from "../../filter/rule.ts";
import { quoteName } from "../../filter/syntax/quoted_name.ts";
import { namesByNormalForm, nearMissOf, normalFormOf } from "../../problem/nearest_name.ts";
import { invalidParameter, type Problem } from "../../problem/problem.ts";

export interface Query extends ReadonlyMap<string, string> {
  readonly codeFilter?: Rule;
  /** True for parameters in a body. A filter in a body can be longer than in a URL. */
  readonly isInBody?: true;
}

const knownParameters: ReadonlySet<string> = new Set([
  "filter",
  "select",
  "include",
  "cursor",
  "limit",
  "orderBy",
  "totalCount",
  "withDeleted",
  "groupBy",
  "count",
  "sum",
  "avg",
  "min",
  "max",
  "having",
  "q",
  "highlight",
  "skipExisting",
  "resumeFrom",
]);

const namesElsewhere: ReadonlyMap<string, string> = new Map([
  ["where", "filter"],
  ["fields", "select"],
  ["expand", "include"],
  ["sort", "orderBy"],
  ["order", "orderBy"],
  ["perpage", "limit"],
  ["pagesize", "limit"],
  ["page", "cursor"],
  ["offset", "cursor"],
]);

const noParameters: ReadonlySet<string> = new Set();

const none: Query = new Map();

/**
 * Parses a raw query. Throws a 400 for a repeated parameter, and for an unknown parameter that
 * looks like a part of an unencoded filter. If `strict` is true, also throws for misspelt names,
 * for names of PostgREST and for very many unknown names: a list whose filter is ignored could
 * return too many rows. `more` contains the parameters that only this endpoint has.
 */
export function parseQuery(raw: string, strict = true, more = noParameters): Query {
  if (raw === "") return none;
  const query = new Map<string, string>();
  let isAfterEmpty = false;
  let unknown = 0;
  for (const segment of raw.split("&")) {
    if (segment === "") {
      isAfterEmpty = true;
      continue;
    }
    const equals = segment.indexOf("=");
    const name = decode(equals < 0 ? segment : segment.slice(0, equals));
    const value = equals < 0 ? "" : decode(segment.slice(equals + 1));
    if (!knownParameters.has(name) && !more.has(name)) {
      // An unencoded `&&` between two comparisons looks like a parameter without a name.
      if (isAfterEmpty || /[=!<>~;,]/.test(name) || value.startsWith("=")) {
        throw invalidParameter(
          "The query looks like a truncated filter: encode & as %26, and so ; , = where values have them",
        );
      }
      if (strict) refuseNearMiss(name, more);
      if (strict && otherFilter.test(`${name}=${value}`)) {
        throw invalidParameter(
          `Unknown parameter "${name}": write conditions as "filter", for example filter=age>=18`,
        );
      }
      if (strict && ++unknown > maxUnknown) throw tooManyUnknown();
      continue;
    }
    if (query.has(name)) {
      throw invalidParameter(`Cannot use the parameter "${name}" twice`);
    }
    query.set(name, value);
    isAfterEmpty = false;
  }
  return query;
}

const nameLists: ReadonlySet<string> = new Set([
  ...["select", "groupBy", "sum", "avg", "min", "max", "on"],
]);

/** Returns a parameter's value as a string. Quotes names in lists, except paths in `select`. */
export function parameterText(name: string, value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const items = value.map(String);
  if (!nameLists.has(name)) return items.join(",");
  const isPath = (item: string) => name === "select" && /^\w+(?:\.\w+)+$/.test(item);
  return items.map((item) => isPath(item) ? item : quoteName(item)).join(",");
}

export function parseFlag(query: Query, name: string, allowed = "true or false"): boolean {
  const value = query.get(name);
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw invalidParameter(`Cannot use "${name}": it must be ${allowed}`);
}

export const delimiters: readonly string[] = [",", ";", "\t", "|", ":"];

export function parseDelimiter(text: string): string {
  const delimiter = text === "tab" ? "\t" : text;
  if (delimiters.includes(delimiter)) return delimiter;
  throw invalidParameter(
    `Cannot use "delimiter": it must be , ; | : or tab, not ${JSON.stringify(text)}`,
  );
}

export interface PageLimits {
  readonly defaultLimit: number;
  readonly maxLimit: number;
}

export function parseLimit(text: string | null, limits: PageLimits): number {
  if (text === null) return limits.defaultLimit;
  if (!/^[0-9]+$/.test(text) || Number(text) === 0) {
    throw invalidParameter("Cannot use this limit: it must be a whole number over 0");
  }
  return Math.min(Number(text), limits.maxLimit);
}

/** Matches filters in the syntax of PostgREST: `age=eq.1`, `age=not.in.(1,2)`, `or=(age.eq.1)`. */
const otherFilter =
  /^[^=]*=(?:not\.)?(?:(?:n?eq|i?like)\.|[gl]te?\.-?\d|is\.(?:null|true|false)$|in\.\(|c[sd]\.[{[])|^(?:[^=]*\.)?(?:or|and)=\(/;

function refuseNearMiss(name: string, more: ReadonlySet<string>): void {
  if (name.length > maxNearMissLength) return;
  if (name === "on") {
    throw invalidParameter(
      'Cannot use "on" here: it names the unique key of an upsert, POST / or POST /batch/upsert',
    );
  }
  const meant = nearMissOf(name, namesByNormalForm(more)) ??
    namesElsewhere.get(normalFormOf(name)) ?? nearMissOf(name, knownByPlainName);
  if (meant === undefined) return;
  throw invalidParameter(`Unknown parameter "${name}": did you mean "${meant}"?`);
}

const maxNearMissLength = 16;

/** The maximum number of unknown parameters. Comparing each name with all known names is slow. */
const maxUnknown = 100;

function tooManyUnknown(): Problem {
  return invalidParameter(
    `Cannot use this query: it has more than ${maxUnknown} unknown parameters`,
    { details: { limit: maxUnknown } },
  );
}

const knownByPlainName = namesByNormalForm(knownParameters);

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch (cause) {
    throw invalidParameter(
      "The query holds a malformed percent sequence: write % as %25, and other text as UTF-8",
      { cause },
    );
  }
}
