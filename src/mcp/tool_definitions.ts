import type { JsonSchema } from "../protocol/route_description.ts";

const text = { type: "string" };
const names = { type: "array", items: text };
const resource = { ...text, description: "A name from list_resources." };
const filter = { ...text, description: "RSQL: see the resource service://filter." };
const id = { ...text, description: "The key; the parts of a composite one with commas." };
const ifMatch = { ...text, description: "The etag that query_rows gave with this id." };

/** The definitions of all tools. Every request to a model contains them, so they are short. */
export const toolDefinitions = {
  list_resources: tool("Lists what the caller may use.", { "cursor?": text }),
  describe_resource: tool("Fields, relations and operations of one resource.", { resource }),
  query_rows: tool(
    "Rows of a resource, 20 at most; with id one row and its etag. Long texts are cut.",
    {
      resource,
      "id?": id,
      "filter?": filter,
      "select?": names,
      "orderBy?": { ...text, description: "Like -published,title." },
      "include?": {
        ...text,
        description: "Relations, like author,loans(limit:3),loans(count:true).",
      },
      "cursor?": { ...text, description: "nextCursor of the previous response." },
      "limit?": { type: "integer", minimum: 1, maximum: 20 },
    },
  ),
  aggregate: tool("Counts, sums, averages, extremes, by groups.", {
    resource,
    ...{ "groupBy?": names, "sum?": names, "avg?": names, "min?": names, "max?": names },
    ...{ "count?": { type: "boolean" }, "filter?": filter, "having?": text, "orderBy?": text },
  }),
  search: tool("Rows that hold words, the best first, where the resource has search.", {
    resource,
    q: text,
    "filter?": filter,
    "limit?": { type: "integer", minimum: 1, maximum: 20 },
  }),
  write_row: tool("Creates a row; with id changes the given fields of that row.", {
    resource,
    "id?": id,
    "on?": { ...names, description: "A unique key: changes the row with its values, if any." },
    values: { type: "object", description: "Integers beyond 2^53 as strings." },
    "if_match?": ifMatch,
    "idempotency_key?": text,
  }, true),
  delete_row: tool("Deletes one row, after the user has agreed.", {
    resource,
    id,
    "if_match?": ifMatch,
    "confirm?": { ...text, description: "resource/id, where the client cannot ask its user." },
  }, true),
  call_procedure: tool("Calls a procedure that describe_resource lists.", {
    resource,
    procedure: text,
    "input?": {},
  }, true),
} as const;

export type ToolName = keyof typeof toolDefinitions;

function tool(description: string, members: Readonly<Record<string, JsonSchema>>, isWrite = false) {
  const entries = Object.entries(members);
  return {
    description,
    isWrite,
    input: {
      type: "object",
      properties: Object.fromEntries(
        entries.map(([name, schema]) => [name.replace("?", ""), schema]),
      ),
      required: entries.map(([name]) => name).filter((name) => !name.endsWith("?")),
      // An unknown argument is an error, so that a misspelled `filter` does not affect all rows.
      additionalProperties: false,
    },
  };
}

/** The description of the filter syntax. Language models can read it as an MCP resource. */
export const filterGrammar =
  `Filter (RSQL): comparisons joined by ; (and) or , (or); ( ) groups; not( ) negates.
field==value !=  >  >=  <  <=  (text in code-point order)
field=in=(a,b) =out=(a,b)  field=between=(1,9) =nbetween=
field=contains=x =startswith=x =endswith=x; case folded: =icontains= =istartswith= =iendswith=
field=ieq=x =ine=  patterns with % and _: field%=a% !%= =ilike= =nilike=
field==null  field!=null  =isnull=true  =isempty=true  =length=3 =minlength= =maxlength=
Values with spaces, quotes or one of ;,()=!<> stand in "double quotes", where \\ escapes.
So do names of fields with such characters: "group by"==1
Dates: 2026-01-31; times: 2026-01-31T12:00:00Z. Booleans: true, false.
A relation that is filterable: author.name==Ann; one related row that passes all conditions:
members.some(userId==7;role==admin), likewise members.none(…) and members.every(…); within a json field: data.tags.0==x
Example: status==open;(title=icontains=tea,views>100);createdAt>=2026-01-01
`;
