import { assertThrows } from "@std/assert";
import { eq } from "../../src/filter/builders.ts";
import { allRows } from "../../src/filter/filter.ts";
import { requireRecorded } from "../../src/live/stream/stream_request.ts";
import { noRowsShown } from "../../src/live/live_view.ts";
import { Problem } from "../../src/problem/problem.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf } from "../../src/schema/table_like.ts";
import { type Relation, relationStep } from "../../src/schema/relation.ts";

const rows = table("rows", {
  id: integer().primaryKey(),
  parentId: integer().as("parent_id"),
  title: text(),
});
const info = tableInfoOf(rows);
const [id, parentId] = [columnInfoOf(rows.id), columnInfoOf(rows.parentId)];
const children: Relation = {
  name: "children",
  owner: info,
  target: info,
  type: "hasMany",
  filterable: false,
  toMany: true,
  steps: [relationStep(info, [{ own: id, other: parentId }])],
};
const shown = { relation: children, filter: allRows, links: allRows, isIndexed: true, shown: [] };
const request = { resource: "/api/rows", scope: allRows, filter: allRows, view: noRowsShown };

Deno.test("a relation that stands on what is not recorded cannot be followed", () => {
  const including = { ...request, view: { ...noRowsShown, shown: [{ ...shown, shown: [shown] }] } };
  assertThrows(
    () => requireRecorded(including, new Set([parentId])),
    Problem,
    'Cannot follow by this include: a relation stands on "parentId"',
  );
  requireRecorded(including, new Set([columnInfoOf(rows.title)]));
});

Deno.test("a right that reads an unrecorded column is a fault of the configuration", () => {
  const excluded = new Set([columnInfoOf(rows.title)]);
  const message = 'a scope asks about "title", which "changes.exclude" names';
  assertThrows(
    () => requireRecorded({ ...request, scope: eq(rows.title, "a") }, excluded),
    Error,
    message,
  );
  const related = { ...shown, filter: eq(rows.title, "a") };
  const including = { ...request, view: { ...noRowsShown, shown: [related] } };
  assertThrows(() => requireRecorded(including, excluded), Error, message);
});
