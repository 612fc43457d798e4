import type { Connection } from "../../db/driver.ts";
import { type FetchedRows, fetchRows, type RowReader } from "../../db/rows.ts";
import { countedPositionAfter, offsetPositionAfter } from "../../plan/reached_position.ts";
import {
  type CountedPosition,
  countFittingValues,
  sealCountedCursor,
  sealCursor,
  sealOffsetCursor,
} from "../../plan/cursor.ts";
import { parseLimit } from "../http/query_parameters.ts";
import { keysetPosition } from "../../plan/order.ts";
import type { ReadPlan } from "../../plan/plan.ts";
import { catching, chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { limitedReply } from "../http/json_reply.ts";
import {
  asResponseTooLarge,
  countRowBytes,
  createRowByteCounter,
  pageRowsPart,
  type ResponseByteBudget,
} from "../http/response_byte_budget.ts";
import { planReadAfterRow } from "../read/read_after_row.ts";
import { responseReadConnection } from "../read/limited_reads.ts";
import { loadIncluded } from "../read/load_included.ts";
import {
  addCutFieldNames,
  type CutColumns,
  fetchPreview,
  parsePreview,
  planPreview,
  viewOfPreview,
} from "../read/fetch_preview.ts";
import type { AdditionalGrants, Operation } from "../model/operation.ts";
import { type Included, maskRows, noneIncluded, type View } from "../shape/output.ts";
import type { Resource } from "../model/resource.ts";
import {
  fetchTotalCount,
  type ListQuery,
  type ListReadPlan,
  offsetParameter,
  offsetPosition,
  parseListQuery,
  parseOffset,
  parseTotalCount,
  planList,
  planTotalCount,
  resourcesReadByList,
  type TotalCount,
  type TotalCountMode,
  type TotalCountPlan,
} from "../read/list_query.ts";

interface ListIntent {
  readonly selection: ListQuery;
  readonly limit: number;
  readonly total: TotalCountMode;
  readonly preview: number | null;
}

interface ListPlan extends ListReadPlan {
  readonly total: TotalCountPlan | null;
  readonly view: View;
  readonly related: AdditionalGrants["related"];
}

interface ListOutcome {
  readonly rows: readonly Row[];
  readonly stored: readonly (readonly SqlValue[])[];
  readonly columns: readonly ColumnInfo[];
  readonly total: TotalCount | null;
  readonly included: readonly Included[];
  readonly bytes: ResponseByteBudget;
  readonly cut: CutColumns | null;
  /** If sort values can change without a write: the page's end as a number of rows. Else null. */
  readonly counted: CountedPosition | null;
}

export const list: Operation<ListIntent, ListPlan, ListOutcome> = {
  name: "list",
  access: "read",
  takesBody: false,

  ownParameters: ({ allowsPreview, capabilities: { enableExport } }) =>
    allowsPreview ? withPreview : enableExport ? withExport : offsetParameter,

  parse({ query }, resource) {
    const preview = resource.allowsPreview ? parsePreview(query) : null;
    const selection = parseOffset(parseListQuery(query, resource), query, resource);
    return {
      preview,
      selection: preview === null
        ? selection
        : { ...selection, view: viewOfPreview(selection.view) },
      limit: parseLimit(query.get("limit") ?? null, resource.page),
      total: parseTotalCount(query),
    };
  },

  readsFrom({ selection }) {
    return resourcesReadByList(selection);
  },

  plan({ selection, limit, total, preview }, grant, resource, { related }) {
    const { read, from, counted } = planList(selection, { grant, related }, resource, limit + 1);
    return {
      read: preview === null ? read : { ...read, preview: planPreview(read, preview, resource) },
      from,
      counted,
      total: total === "none" ? null : planTotalCount(read.where, total, grant, resource),
      view: selection.view,
      related,
    };
  },

  execute({ read: planned, from, counted, total, view, related }, call) {
    const { reader, roleRights, readCosts: { maxAnswerBytes: limit } } = call.resource;
    const bytes: ResponseByteBudget = { limit, left: limit };
    const connection = responseReadConnection(call);
    const readPage = (read: ReadPlan): MaybePromise<ListOutcome> =>
      chain(fetchPage({ read, view, bytes }, connection, reader), (fetched) => {
        const page = counted === null ? fetched : afterCompared(fetched, read, counted);
        const { rows, stored, cut = null, next = null } = page;
        const alone = { rows, stored, cut, counted: next, columns: read.columns, bytes };
        return total === null && view.include.length === 0
          ? { ...alone, total: null, included: noneIncluded }
          : withRelated(
            alone,
            { read: withoutCompared(read, counted), total, view, related },
            { connection, reader, roleRights },
          );
      });
    return from === null
      ? readPage(planned)
      : planReadAfterRow(planned, from, connection, reader).then(readPage);
  },

  shape(outcome, intent, resource) {
    const { rows, columns, included, total, cut, bytes: { limit, left } } = outcome;
    const { view } = intent.selection;
    const hasMore = rows.length > intent.limit;
    const page = hasMore ? rows.slice(0, intent.limit) : rows;
    const items = maskRows(page, columns, view, included);
    const size = { limit, counted: limit - left, part: pageRowsPart };
    return limitedReply(
      200,
      {
        items: cut === null ? items : addCutFieldNames(items, cut, view),
        nextCursor: hasMore ? nextCursor(outcome, intent, resource) : null,
        hasMore,
        ...total,
      },
      size,
    );
  },
};

const withExport: ReadonlySet<string> = new Set(
  ["format", "delimiter", "bom", "link", ...offsetParameter],
);
const withPreview: ReadonlySet<string> = new Set(["preview", ...withExport]);

function fetchPage(
  { read, view, bytes }: {
    readonly read: ReadPlan;
    readonly view: View;
    readonly bytes: ResponseByteBudget;
  },
  connection: Connection,
  reader: RowReader,
): MaybePromise<FetchedPage> {
  const count = (stored: FetchedRows["stored"]) =>
    countRowBytes(bytes, stored, createRowByteCounter(read.columns, view.visible), pageRowsPart);
  const fetch: () => MaybePromise<FetchedPage> = read.preview === undefined
    ? () => fetchRows(connection, read, reader, count)
    : () => fetchPreview(connection, read, reader, count);
  return catching(fetch, (error) => {
    throw asResponseTooLarge(error, bytes.limit, pageRowsPart);
  });
}

interface FetchedPage extends FetchedRows {
  readonly cut?: CutColumns;
  readonly next?: CountedPosition;
}

/** Removes the rows before the page, which were read only to check that they are unchanged. */
function afterCompared(fetched: FetchedPage, read: ReadPlan, from: CountedPosition): FetchedPage {
  const { compared } = from;
  const { columns, order, limit } = read;
  const given = (limit ?? 0) - compared - 1;
  const next = countedPositionAfter(from, { stored: fetched.stored, columns, order }, given);
  const [rows, stored] = [fetched.rows.slice(compared), fetched.stored.slice(compared)];
  const cut = fetched.cut?.slice(compared);
  return { rows, stored, next, ...(cut === undefined ? {} : { cut }) };
}

/** Returns the plan without the rows before the page, which are read only to detect changes. */
function withoutCompared(read: ReadPlan, counted: CountedPosition | null): ReadPlan {
  if (counted === null) return read;
  const limit = (read.limit ?? 0) - counted.compared;
  return { ...read, limit, from: { values: [], skip: counted.rows } };
}

async function withRelated(
  page: Omit<ListOutcome, "total" | "included">,
  { read, total, view, related }: Omit<ListPlan, "from" | "counted">,
  counting: Parameters<typeof fetchTotalCount>[2],
): Promise<ListOutcome> {
  const { rows, bytes } = page;
  const counted = total === null
    ? null
    : await fetchTotalCount(total, { read, found: rows.length }, counting);
  const included = view.include.length === 0 ? noneIncluded : await loadIncluded(
    rows.slice(0, (read.limit ?? 0) - 1),
    view.include,
    related,
    { connection: counting.connection, bytes },
  );
  return { ...page, total: counted, included };
}

function nextCursor(outcome: ListOutcome, intent: ListIntent, resource: Resource): string {
  const { order, after } = intent.selection;
  const { columns } = outcome;
  const list = { resource: resource.url, order, sealer: resource.sealer };
  const stored = outcome.stored.slice(0, intent.limit);
  if (outcome.counted !== null) return sealCountedCursor(outcome.counted, list);
  if (!resource.table.distinct) {
    const page = { stored, columns, order, from: offsetPosition(after) };
    return sealOffsetCursor(offsetPositionAfter(page, countFittingValues), list);
  }
  return sealCursor(keysetPosition(stored.at(-1) ?? [], columns, order), list, after);
}
