import { assertEquals } from "@std/assert";
import { createOutbox, rsql } from "../../../exports/client.ts";
import { parseJson } from "../../../src/schema/exact_json.ts";
import { withCollection } from "./collection.ts";
import { bodyOf, jsonOf, plain, safe } from "./row_forms.ts";
import { documentText, marked, type Stored, type World } from "./snow_service.ts";

/** Gives a row a new `v`. */
export type Writer = (world: World, row: Stored, v: string) => Promise<unknown>;

/** Creates a row again that is gone. */
export type Creator = (world: World, row: Stored) => Promise<unknown>;

/** The doors that change rows. */
export const writers: Readonly<Record<string, Writer>> = {
  "update": async ({ api }, { id }, v) => {
    const { value, etag } = await api.snow.get(id);
    const changed = await api.snow.update(id, { v }, { ifMatch: etag });
    assertEquals([value.id, changed.value.id], [id, id]);
  },
  "replace": async ({ api }, row, v) => {
    const { value: { twin: _computed, ...value } } = await api.snow.get(row.id);
    await api.snow.replace(row.id, { ...value, v });
  },
  "upsert": async ({ api }, { id, ref }, v) =>
    assertEquals((await api.snow.create({ id, ref, v }, { on: ["id"] })).value.id, id),
  "a batch of updates": async ({ api }, { id, ref }, v) => {
    assertEquals(await api.snow.updateBatch(rsql`id==${id}`, { v, ref }), 1);
  },
  "a batch of upserts": ({ api }, { id, ref }, v) => api.snow.upsertBatch([{ id, ref, v }]),
  "a write that is repeated": async ({ api }, { id }, v) => {
    const options = { idempotencyKey: `"${crypto.randomUUID()}"` };
    const first = await api.snow.update(id, { v }, options);
    const again = await api.snow.update(id, { v }, options);
    assertEquals([first.value, again.value.id], [again.value, id]);
  },
  "a hook": async ({ api, hooked }, { id, ref }, v) => {
    await api.snow.update(id, { v, ref });
    assertEquals(hooked.at(-1), `${id} ${ref}`);
  },
  "the outbox": async ({ api }, { id, ref }, v) => {
    const outbox = createOutbox(api, { identity: "ada" });
    await outbox.update(api.snow, id, { v, ref }).done;
    outbox.close();
  },
  "TanStack DB": ({ api }, { id }, v) =>
    withCollection(api, (rows) => rows.update(id, (row) => void (row.v = v)).isPersisted.promise),
  "a document that is changed": async ({ api }, { id }, v) => {
    const { value: { doc } } = await api.snow.get(id);
    await api.snow.update(id, { v, doc: { ...Object(doc), name: "b" } });
    const { value } = await api.snow.get(id);
    await api.snow.update(id, { doc: { ...Object(value.doc), name: "a" } });
  },
  "MCP": async ({ tool }, { id, ref }, v) => {
    const { etag } = await tool("query_rows", { resource: "snow", id });
    const values = { v, ref };
    const { data } = await tool("write_row", { resource: "snow", id, values, if_match: etag });
    assertEquals([data.id, data.ref], [id, ref]);
  },
  "HTTP": async ({ send }, { id, ref }, v) => {
    const answer = await send("PATCH", `/api/snow/${id}`, `{"v":"${v}","ref":${ref}}`);
    assertEquals([answer.status, marked(await answer.text()).id], [200, `# ${id}`]);
  },
  "the dashboard": async ({ send }, { id, ref }, v) => {
    const body = JSON.stringify({ v, ref });
    const answer = await send("PATCH", `/__service/ui/api/snow/${id}`, body);
    assertEquals([answer.status, marked(await answer.text()).id], [200, `# ${id}`]);
  },
  "a call in code": async ({ app }, { id, ref }, v) => {
    const rows = app.as({ id: "ada" }).of("snow");
    await rows.update(id, { v, ref });
    assertEquals(`${(await rows.update(BigInt(id), { v, ref: BigInt(ref) }))?.value.id}`, id);
  },
};

/** The doors that create rows. */
export const creators: Readonly<Record<string, Creator>> = {
  "create": async ({ api }, row) => {
    const { value } = await api.snow.create(bodyOf(row));
    assertEquals(safe(value), row);
  },
  "a batch": async ({ api }, row) => {
    assertEquals((await api.snow.createBatch([bodyOf(row)])).map(safe), [row]);
  },
  "an upsert": ({ api }, row) => api.snow.create(bodyOf(row), { on: ["id"] }),
  "the outbox": async ({ api }, row) => {
    const outbox = createOutbox(api, { identity: "ada" });
    await outbox.create(api.snow, bodyOf(row)).done;
    outbox.close();
  },
  "MCP": async ({ tool }, row) => {
    const { data } = await tool("write_row", { resource: "snow", values: bodyOf(row) });
    assertEquals(safe(data), row);
  },
  "HTTP, whose Location leads to the row": async ({ send }, row) => {
    const created = await send("POST", "/api/snow", jsonOf(row));
    assertEquals(plain(marked(await created.text())), row);
    const location = created.headers.get("location") ?? "";
    assertEquals(location, `/api/snow/${row.id}`);
    assertEquals(plain(marked(await (await send("GET", location)).text())), row);
  },
  "an import of NDJSON": async ({ send }, row) => {
    const type = { "content-type": "application/x-ndjson" };
    assertEquals((await send("POST", "/api/snow/import", jsonOf(row), type)).status, 200);
  },
  "an import of CSV": async ({ send }, row) => {
    const { id, ref, price, ratio } = row;
    const doc = documentText(row).replaceAll('"', '""');
    const text =
      `id,v,ref,price,ratio,doc,pages\r\n${id},v,${ref},${price},${ratio},"${doc}",3\r\n`;
    const answer = await send("POST", "/api/snow/import", text, { "content-type": "text/csv" });
    assertEquals(answer.status, 200, await answer.text());
  },
  "an import of the client": ({ api }, row) => api.snow.import([bodyOf(row)]),
  "a call in code": ({ app }, row) => {
    const { ratio, doc: _doc, ...members } = row;
    const doc = app.as({ id: "ada" }).of("snow");
    return doc.create({
      ...members,
      v: "v",
      pages: 3,
      ratio: Number(ratio),
      doc: parseJson(documentText(row)),
    });
  },
};
