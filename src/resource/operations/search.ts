import { fetchFound, type FoundRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import type { SearchPlan } from "../../plan/plan.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import { parseSearchQuery, type SearchQuery, wordsOf } from "../../search/search_query.ts";
import { requireShownToRole } from "../live/create_live_view.ts";
import { limitedReply } from "../http/json_reply.ts";
import { parseFlag, parseLimit, type Query } from "../http/query_parameters.ts";
import type { Operation } from "../model/operation.ts";
import { columnsOf, maskRows, type RelationFilter, type View, viewOf } from "../shape/output.ts";
import {
  asResponseTooLarge,
  countRowBytes,
  createRowByteCounter,
  pageRowsPart,
  type ResponseByteBudget,
} from "../http/response_byte_budget.ts";
import { responseReadConnection } from "../read/limited_reads.ts";
import { parseQueryFilter } from "../read/user_filter.ts";
import { formatKey, keyOf } from "../../plan/key.ts";
import { highlight } from "../../search/highlight.ts";
import type { OpenIndex } from "../../search/open_index.ts";
import { textsOf } from "../../search/search_index.ts";
import type { Resource } from "../model/resource.ts";

interface SearchIntent {
  /** The parsed query. Null if it contains no word, so that the search finds no row. */
  readonly query: SearchQuery | null;
  readonly filter: RelationFilter;
  readonly limit: number;
  readonly offset: number;
  readonly isHighlighted: boolean;
  readonly view: View;
}

interface PlannedSearch extends Omit<SearchIntent, "filter"> {
  readonly plan: Omit<SearchPlan, "matches">;
  readonly scope: Filter;
}

interface SearchOutcome extends FoundRows {
  readonly columns: readonly ColumnInfo[];
  readonly bytes: ResponseByteBudget;
  readonly highlights: Highlights | null;
}

const offsetParameter: ReadonlySet<string> = new Set(["offset"]);

export const search: Operation<SearchIntent, PlannedSearch, SearchOutcome> = {
  name: "search",
  access: "read",
  takesBody: false,
  // A search has no cursor, so the next page is requested by `offset`.
  ownParameters: () => offsetParameter,

  /** Requires that the user can read all searched fields, because any of them can match. */
  requireFields({ search, withheld }) {
    if (withheld.size === 0) return;
    const isOpen = search?.index.fields.every(({ column }) => !withheld.has(column)) ?? true;
    if (isOpen) return;
    throw new Problem("forbidden", "Cannot search: this looks in fields that you may not read");
  },

  parse({ query }, resource) {
    search.requireFields?.(resource);
    const limit = parseLimit(query.get("limit") ?? null, limits);
    return {
      query: parseSearchQuery(query.get("q")),
      filter: parseQueryFilter(query, resource),
      limit,
      offset: parseOffset(query, limit),
      isHighlighted: parseFlag(query, "highlight"),
      view: viewOf(resource, query.get("select")),
    };
  },

  readsFrom({ filter }) {
    return filter.reached;
  },

  plan({ filter, ...intent }, grant, resource, { related }) {
    const { limit, offset, view, isHighlighted } = intent;
    const { table, undeleted, search: index } = resource;
    const where = and(grant.rows, filter.restrictTo(related), undeleted);
    const marked = isHighlighted ? index?.index.fields.map(({ column }) => column) ?? [] : [];
    const columns = [...new Set([...columnsOf(view, table), ...table.primaryKey, ...marked])];
    const plan = { kind: "search", table, columns, where, limit, offset } as const;
    return { ...intent, plan, scope: grant.rows };
  },

  async execute({ query, plan, scope, view, isHighlighted }, call) {
    const { resource, request } = call;
    const { reader, search: index, readCosts: { maxAnswerBytes: limit } } = resource;
    const { columns } = plan;
    const bytes: ResponseByteBudget = { limit, left: limit };
    if (index === null) throw new Error(`"${resource.name}" has no search index`);
    const none = { rows: [], stored: [], total: 0, columns, bytes };
    if (query === null || plan.where.kind === "none") {
      return { ...none, highlights: isHighlighted ? {} : null };
    }
    if (resource.roleRights.mayChange) await requireShownToRole(resource, "search");
    const connection = responseReadConnection(call);
    const matches = await index.matches(query, {
      ...{ connection, plan, scope, signal: request.signal() },
    });
    const found = await fetchFound(
      connection,
      { ...plan, matches },
      reader,
      (stored) =>
        countRowBytes(bytes, stored, createRowByteCounter(columns, view.visible), pageRowsPart),
    ).catch((error) => {
      throw asResponseTooLarge(error, limit, pageRowsPart);
    });
    const highlights = isHighlighted
      ? await highlightRows(found.rows, query, resource, index)
      : null;
    return { ...found, columns, bytes, highlights };
  },

  shape({ rows, columns, total, highlights, bytes: { limit, left } }, { view }) {
    // The bytes of highlights were not counted, so the size of a reply with highlights is unknown.
    const counted = highlights === null ? limit - left : null;
    return limitedReply(
      200,
      {
        items: maskRows(rows, columns, view),
        total,
        ...(highlights === null ? {} : { highlights }),
      },
      { limit, counted, part: pageRowsPart },
    );
  },
};

const limits = { defaultLimit: 20, maxLimit: 100 };

/** The maximum of `offset` plus `limit`. Users find later rows with a more specific query. */
const maxDepth = 10_000;

function parseOffset(query: Query, limit: number): number {
  const text = query.get("offset") ?? "0";
  const offset = /^[0-9]+$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(offset)) {
    throw invalidParameter("Cannot use this offset: it must be a whole number from 0 on");
  }
  if (offset + limit > maxDepth) {
    throw invalidParameter(
      `Cannot search so deep: offset and limit must be ${maxDepth} together at most`,
    );
  }
  return offset;
}

/** The highlights of a search, by row id and field name: HTML in which `<em>` marks the words. */
type Highlights = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** Highlights matches in the stored rows, because the strings in the index can be older. */
async function highlightRows(
  rows: readonly Row[],
  query: SearchQuery,
  { table, fields: { readable } }: Resource,
  { index: { fields }, backend }: OpenIndex,
): Promise<Highlights> {
  // Highlights are keyed by the primary key, so there are none if the caller cannot read the key.
  if (!table.primaryKey.every((column) => readable.includes(column))) return {};
  const texts = rows.map((row) => textsOf(row, fields));
  const words = new Set(texts.flatMap((one) => one.flatMap(wordsOf)));
  const matching = await backend.matchWords([...words], query);
  const highlights = rows.map((row, index) => {
    const marked = fields.flatMap(({ column }, field) => {
      const parts = highlight(texts[index]?.[field] ?? "", (word) => matching.has(word));
      return parts.length === 0 ? [] : [[column.name, parts] as const];
    });
    const key = keyOf(row, table);
    return [
      key.length === 1 ? String(key[0]) : formatKey(key),
      Object.fromEntries(marked),
    ] as const;
  });
  return Object.fromEntries(highlights);
}
