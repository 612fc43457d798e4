import type { JsonSchema } from "../protocol/route_description.ts";
import type { FieldListName, Resource } from "../resource/model/resource.ts";
import { mayUpsert, uniqueKeysOf } from "../resource/write/upsert/sort_items.ts";
import type { OperationName } from "../resource/model/operation.ts";
import { isDocument } from "../schema/structured/structured_value.ts";
import { describeRelation } from "./service_schema.ts";

export const queryParameters: Readonly<
  Record<OperationName, ((resource: Resource) => readonly JsonSchema[]) | null>
> = {
  ...{ update: null, replace: null, delete: null, "batch-create": null, "batch-update": null },
  ...{ "batch-replace": null, "batch-delete": null, procedure: null, export: null, restore: null },
  ...{ revert: null },
  history: (resource) => [
    limitParameter("rows", resource.page),
    parameter("cursor", { type: "string" }, "`nextCursor` of the page before."),
  ],
  query: null,
  list: listParameters,
  get: viewParameters,
  create: (resource) =>
    mayUpsert(resource)
      ? onParameter(resource, "Changes the row with the body's values of this unique key, if any.")
      : [],
  upsert: (resource) =>
    onParameter(resource, "The unique key that rows are found by; the primary key unless set."),
  count: (resource) => [filterParameter(resource, true), ...deletedParameter(resource)],
  search: (resource) => [
    { ...parameter("q", { type: "string", minLength: 1 }, "The words."), required: true },
    filterParameter(resource, true),
    ...viewParameters(resource).slice(0, 1),
    limitParameter("rows", { defaultLimit: 20, maxLimit: 100 }),
    parameter(
      "offset",
      { type: "integer", minimum: 0, default: 0 },
      "How many rows to skip; with `limit` 10,000 at most.",
    ),
    flagParameter("highlight", "Adds `highlights`."),
  ],
  aggregate: (resource) => [filterParameter(resource, true), ...aggregateParameters(resource)],
  "subscribe-aggregate": (resource) => [
    filterParameter(resource, false),
    ...aggregateParameters(resource),
  ],
  subscribe: (resource) => [
    filterParameter(resource, false),
    ...viewParameters(resource),
    parameter("limit", { type: "integer", minimum: 1 }, "Keeps the first rows, as many as a list."),
    parameter("orderBy", { type: "string" }, "The order as in lists, without paths; with `limit`."),
    ...deletedParameter(resource),
    flagParameter("skipExisting", "Sends no rows at first, only their changes."),
    parameter("resumeFrom", { type: "string" }, "The last `id` that was received."),
  ],
  import: () => [
    parameter(
      "mode",
      { type: "string", enum: ["all", "chunks"], default: "all" },
      "All rows or none, or a transaction for each chunk.",
    ),
    parameter(
      "chunk",
      { type: "integer", minimum: 1, maximum: 10_000, default: 1_000 },
      "How many rows a chunk has; with `mode=chunks`.",
    ),
    flagParameter("dryRun", "Rolls everything back; with `mode=all`."),
    delimiterParameter,
    parameter("null", { type: "string" }, "The CSV field without quotes that means NULL."),
    parameter("encoding", { type: "string" }, "The encoding of a body that is not UTF-8."),
    parameter("map", { type: "string" }, "`old=new,…`: the names of the body and of the fields."),
    flagParameter("ignoreExtra", "Ignores names of the body that are no fields."),
    parameter(
      "timestamps",
      { type: "string", enum: ["ms", "s", "excel"] },
      "What a number in a CSV column of timestamps or dates counts.",
    ),
  ],
};

/** Returns a list's parameters as body members, except `link`, which a body cannot contain. */
export function listBody(resource: Resource): JsonSchema {
  const members = listParameters(resource).filter(({ name }) => name !== "link")
    .map(({ name, schema, description }) => [name, { ...Object(schema), description }] as const);
  return { type: "object", properties: Object.fromEntries(members) };
}

const delimiterParameter = parameter(
  "delimiter",
  { type: "string", enum: [",", ";", "|", ":", "tab"] },
  "The separator of a CSV: a comma unless set.",
);

function listParameters(resource: Resource): readonly JsonSchema[] {
  return [
    filterParameter(resource, true),
    ...viewParameters(resource),
    orderParameter(resource),
    limitParameter("rows", resource.page),
    parameter("cursor", { type: "string" }, "`nextCursor` of the page before."),
    parameter(
      "offset",
      { type: "integer", minimum: 0, maximum: 10_000, default: 0 },
      "How many rows to skip, in the place of a cursor.",
    ),
    parameter(
      "totalCount",
      { type: "string", enum: ["true", "false", "estimated"], default: "false" },
      "Adds `totalCount`: exact, or where the database has one an estimate.",
    ),
    ...deletedParameter(resource),
    ...resource.capabilities.enableExport ? exportParameters() : [],
  ];
}

function exportParameters(): readonly JsonSchema[] {
  return [
    parameter(
      "format",
      { type: "string", enum: ["json", "csv", "ndjson"] },
      "The format, in the place of `Accept`: CSV and NDJSON have every row.",
    ),
    delimiterParameter,
    flagParameter("bom", "Writes CSV for spreadsheets: with a byte order mark, without formulas."),
    flagParameter(
      "link",
      "Returns `{ link, expiresAt }` instead of a page: a link that downloads the export for a minute.",
    ),
  ];
}

export function parameter(name: string, schema: JsonSchema, description: string): JsonSchema {
  return { name, in: "query", description, schema };
}

function listParameter(
  name: string,
  members: readonly string[],
  description: string,
): readonly JsonSchema[] {
  if (members.length === 0) return [];
  return [{
    ...parameter(
      name,
      { type: "array", uniqueItems: true, items: { type: "string", enum: members } },
      description,
    ),
    style: "form",
    explode: false,
  }];
}

function flagParameter(name: string, description: string): JsonSchema {
  return parameter(name, { type: "boolean", default: false }, description);
}

function filterParameter(resource: Resource, mayWalk: boolean): JsonSchema {
  const { fields, operators, relations, served } = resource;
  const names = fields.selectable.filter((column) => fields.filterable.has(column))
    .map((column) => column.name);
  const walked = [...relations.values()].filter(({ filterable, target }) =>
    mayWalk && filterable && served.get(target) !== undefined
  ).map(({ name, toMany }) => toMany ? `${name}.…, ${name}.some(…)` : `${name}.…`);
  const symbols = [...operators].filter(([, { takes, accepts }]) =>
    takes !== "query" || fields.readable.some(accepts)
  ).map(([symbol]) => symbol).join(" ");
  return parameter(
    "filter",
    { type: "string" },
    `Which rows: comparisons joined by ; (and) or , (or), grouped by ( and ), negated by not(…). ` +
      `Fields: ${[...names, ...walked].join(", ") || "none"}${
        perUser(resource, "readable", "filterable")
      }. Operators: ${symbols}`,
  );
}

function viewParameters(resource: Resource): readonly JsonSchema[] {
  const { fields: { selectable }, relations } = resource;
  const related = [...relations.values()]
    .filter((relation) => describeRelation(relation, resource, "").length > 0)
    .map(({ name }) => name);
  return [
    {
      ...parameter(
        "select",
        { type: "array", items: { type: "string" } },
        `The fields to send; all unless set, and no others: ${
          selectable.map((one) => one.rowFunction ? `${one.name} (if named)` : one.name).join(", ")
        }${perUser(resource, "readable")}.${
          selectable.some(isDocument) ? " \`field.name\` is a value in a JSON field." : ""
        }`,
      ),
      style: "form",
      explode: false,
    },
    ...related.length === 0 ? [] : [parameter(
      "include",
      { type: "string" },
      `Related rows to send: ${related.join(", ")}. Commas stand between them, and options in ` +
        "parentheses: select, filter, orderBy, limit, include. With count:true, sum:, avg:, min: " +
        "or max:, metrics of the related rows.",
    )],
  ];
}

function onParameter(resource: Resource, description: string): readonly JsonSchema[] {
  const keys = uniqueKeysOf(resource).map(({ name }) => name);
  return keys.length === 0 ? [] : [parameter("on", { type: "string", enum: keys }, description)];
}

function perUser({ varyingFields }: Resource, ...lists: readonly FieldListName[]): string {
  return lists.some((list) => varyingFields.has(list)) ? ", each where the user may use it" : "";
}

function orderParameter(resource: Resource): JsonSchema {
  const { fields } = resource;
  const sortable = fields.selectable.filter((column) => fields.sortable.has(column));
  const names = sortable.map((column) => isDocument(column) ? `${column.name}.…` : column.name);
  const related = [...resource.relations.values()].filter(({ filterable, toMany, target }) =>
    filterable && !toMany && resource.served.get(target) !== undefined
  ).map(({ name }) => `${name}.…`);
  return parameter(
    "orderBy",
    { type: "string", ...(names.length + related.length === 0 ? { maxLength: 0 } : {}) },
    `Keys with commas between them, 8 at most, each once: \`field\`, \`field:desc\` or \`-field\`. ` +
      `Fields: ${[...names, ...related].join(", ") || "none"}${
        perUser(resource, "readable", "sortable")
      }.`,
  );
}

function limitParameter(
  what: "rows" | "groups",
  { defaultLimit, maxLimit }: { defaultLimit: number; maxLimit: number | string },
): JsonSchema {
  const schema = { type: "integer", minimum: 1, default: defaultLimit };
  return parameter(
    "limit",
    schema,
    `How many ${what} at most; above ${maxLimit} it is ${maxLimit}.`,
  );
}

function deletedParameter({ softDelete }: Resource): readonly JsonSchema[] {
  return softDelete === null
    ? []
    : [flagParameter("withDeleted", "Also rows that are marked deleted.")];
}

function aggregateParameters({ groups }: Resource): readonly JsonSchema[] {
  const metrics = [...groups.ofColumns].flatMap(([name, byColumn]) =>
    listParameter(name, [...byColumn.keys()], `The ${metricWords[name]} of these fields.`)
  );
  return [
    ...listParameter("groupBy", [...groups.keys.keys()], "One group for each value of these."),
    flagParameter("count", "The number of rows; also where there is no other metric."),
    ...metrics,
    parameter(
      "having",
      { type: "string" },
      "Which groups: a filter over count, sum_field, avg_field, min_field, max_field, and the " +
        "fields of groupBy.",
    ),
    parameter("orderBy", { type: "string" }, "As in lists, by what `having` may name."),
    limitParameter("groups", { defaultLimit: 1000, maxLimit: "1,000" }),
  ];
}

const metricWords: Readonly<Record<string, string>> = {
  sum: "sum",
  avg: "average",
  min: "least value",
  max: "greatest value",
};
