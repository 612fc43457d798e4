import { assert, assertEquals, assertThrows } from "@std/assert";
import { rsql as clientRsql } from "../../../exports/client.ts";
import {
  all,
  bigint,
  createApp,
  decimal,
  eq,
  type Filter,
  gt,
  has,
  inList,
  json,
  ne,
  resource,
  rsql,
  table,
} from "../../../mod.ts";
import { exactNumber } from "../../../src/schema/exact_number.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { testOnDialects } from "../../support/http.ts";
import { runScript } from "../../support/scratch.ts";

const script = {
  sqlite:
    `CREATE TABLE snow (id BIGINT PRIMARY KEY, wide BIGINT, price DECIMAL(15,2), v, doc JSON, list JSON);
    INSERT INTO snow VALUES
      (9007199254740992, 9007199254740992, 9.50, 9007199254740992,
        '{"n":9007199254740992,"f":0.12345678901234567,"h":1e400,"a":1}', '[9007199254740992]'),
      (9007199254740993, 9007199254740993, 9.51, 9007199254740993,
        '{"n":9007199254740993,"f":0.12345678901234568,"h":1e401,"a":1}', '[9007199254740993]');`,
  postgres:
    `CREATE TABLE snow (id bigint PRIMARY KEY, wide bigint, price numeric, v numeric, doc jsonb, list jsonb);
    INSERT INTO snow VALUES
      (9007199254740992, 9007199254740992, 9.50, 9007199254740992,
        '{"n":9007199254740992,"f":0.12345678901234567,"h":1e400,"a":1}', '[9007199254740992]'),
      (9007199254740993, 9007199254740993, 9.51, 9007199254740993,
        '{"n":9007199254740993,"f":0.12345678901234568,"h":1e401,"a":1}', '[9007199254740993]');`,
};

testOnDialects("a filter of code takes each number as rows show it", async (engine) => {
  const db = await engine.open();
  const isSqlite = engine.name.includes("sqlite");
  await runScript(db.driver, isSqlite ? script.sqlite : script.postgres);
  const [existing] = (await db.introspect()).tables;
  assert(existing);
  const declared = table("snow", {
    id: bigint().primaryKey(),
    wide: bigint(),
    price: decimal({ precision: 15, scale: 2 }),
    doc: json(),
    list: json<unknown[]>(),
  });
  let scope: ReturnType<typeof rsql> | Filter<"snow"> = all();
  const rights = { read: () => scope };
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(existing, { id: ["id"], auth: rights }),
      resource(declared, { id: declared.id, auth: rights, path: "declared" }),
    ],
  });
  const odd = 9007199254740993n;
  const mark = { $number: "9007199254740993" };
  const text = "9007199254740993";
  const templates = {
    "a bigint": rsql`id==${odd}`,
    "a string": rsql`id==${text}`,
    "a mark": rsql`id==${mark}`,
    "a list of bigints": rsql`wide=in=${[odd, 5n]}`,
    "a list of marks": rsql`wide=in=${[mark, { $number: "5" }]}`,
    "a decimal": rsql`price==${"9.51"}`,
    "a decimal that is marked": rsql`price==${{ $number: "9.51" }}`,
    "a member, by a bigint": rsql`doc.n==${odd}`,
    "a member, by a mark": rsql`doc.n==${mark}`,
    "a member, by an exact number": rsql`doc.f==${exactNumber("0.12345678901234568")}`,
    "a member, by a great mark": rsql`doc.h==${{ $number: "1e401" }}`,
    "an item, by a mark": rsql`list=has=${mark}`,
  };
  const ofExisting = {
    ...templates,
    "any values, by a bigint": rsql`v==${odd}`,
    "any values, by a mark": rsql`v==${mark}`,
    "any values, above another": rsql`v>${{ $number: "9007199254740992" }}`,
  };
  const { id, wide, price, list } = declared;
  // The types of these columns ask for strings: a program without types gives bigints.
  const untyped = (value: bigint) => value as unknown as string;
  const ofDeclared = {
    ...templates,
    "eq of a bigint": eq(id, untyped(odd)),
    "eq of digits": eq(wide, text),
    "inList of bigints": inList(wide, [untyped(odd), untyped(5n)]),
    "gt of a bigint": gt(wide, untyped(odd - 1n)),
    "ne of a bigint": ne(id, untyped(odd - 1n)),
    "eq of a decimal": eq(price, "9.51"),
    "has of a bigint": has(list, odd),
  };
  const wrong: string[] = [];
  for (const [path, filters] of Object.entries({ snow: ofExisting, declared: ofDeclared })) {
    for (const [name, filter] of Object.entries(filters)) {
      const rows = async (calls: ReturnType<typeof app.as>, given?: typeof filter) => {
        const listed = calls.of(path).list({ filter: given, orderBy: "id" });
        return (await listed.catch((error) => ({ items: [{ id: error }] }))).items
          .map((row) => String(row.id)).join();
      };
      const filtered = await rows(app.asSystem(), filter);
      scope = filter;
      const scoped = await rows(app.as({ id: "ada" }));
      if (filtered !== text) wrong.push(`${path}, ${name}: ${filtered}`);
      if (scoped !== text) wrong.push(`${path}, ${name}, as a scope: ${scoped}`);
    }
  }
  assertEquals(wrong, []);
  await app.close();
  await db.close();
});

Deno.test("rsql of the client writes a number as a row shows it, and nothing else", () => {
  assertEquals(`${clientRsql`v==${{ $number: "9007199254740993" }}`}`, "v==9007199254740993");
  assertEquals(
    `${clientRsql`v=in=${[{ $number: "-1e400" }, "5", 5]}`}`,
    'v=in=(-1e400,"5",5)',
  );
  for (const text of ["1,v==2", "1;x", ")", "NaN", "x"]) {
    assertThrows(() => clientRsql`v==${{ $number: text }}`, TypeError, "must be a string", text);
  }
  assertEquals(
    `${clientRsql`at>${new Date(0)};x==${null}`}`,
    'at>"1970-01-01T00:00:00.000Z";x==null',
  );
});
