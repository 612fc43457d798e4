import { assertEquals, assertRejects } from "@std/assert";
import type { Driver } from "../../src/db/driver.ts";
import { readPolicyBypasses, readRoleLimits } from "../../src/db/tables/table_facts.ts";
import { createApp } from "../../src/app/app.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { boolean, integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import type { Database } from "../../src/db/database.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { RowPolicyTables } from "../../src/engines/postgres/changes/row_policy_tables.ts";
import { createTableInfo, type TableInfo } from "../../src/schema/table_info.ts";
import { sqlName } from "../../src/sql/fragment.ts";
import { copyPglite } from "../support/engines.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { runScript } from "../support/scratch.ts";

/** `ROLE_` is the role of the service, and `OTHER_` another role. Each relation has `id` and `ok`. */
const script = `
  CREATE SCHEMA more; GRANT USAGE ON SCHEMA more TO ROLE_, OTHER_;
  CREATE TABLE plain (id int PRIMARY KEY, ok bool);
  CREATE TABLE docs (id int PRIMARY KEY, ok bool);
  CREATE TABLE forced (id int PRIMARY KEY, ok bool);
  CREATE TABLE more.docs (id int PRIMARY KEY, ok bool);
  CREATE TABLE "more"."it's ""docs""" (id int PRIMARY KEY, ok bool);
  CREATE TABLE parts (id int PRIMARY KEY, ok bool) PARTITION BY RANGE (id);
  CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (10);
  CREATE TABLE parts_own PARTITION OF parts FOR VALUES FROM (10) TO (20);
  CREATE TABLE parent (id int PRIMARY KEY, ok bool);
  CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
  CREATE VIEW definer AS SELECT * FROM docs;
  CREATE VIEW invoker WITH (security_invoker) AS SELECT * FROM docs;
  CREATE VIEW definer_of_invoker AS SELECT * FROM invoker;
  CREATE VIEW invoker_of_definer WITH (security_invoker = on) AS SELECT * FROM definer;
  CREATE VIEW not_invoker WITH (security_invoker = off) AS SELECT * FROM docs;
  CREATE VIEW deep WITH (security_invoker) AS
    SELECT * FROM plain WHERE EXISTS (SELECT FROM more.docs d WHERE d.id = plain.id);
  CREATE VIEW of_plain AS SELECT * FROM plain;
  CREATE VIEW of_part WITH (security_invoker) AS SELECT * FROM parts_low;
  CREATE VIEW of_other AS SELECT * FROM docs; ALTER VIEW of_other OWNER TO OTHER_;
  CREATE VIEW own AS SELECT * FROM docs; ALTER VIEW own OWNER TO ROLE_;
  CREATE MATERIALIZED VIEW stored AS SELECT * FROM invoker;
  INSERT INTO plain VALUES (1, true), (2, false);
  INSERT INTO docs VALUES (1, true), (2, false);
  INSERT INTO forced VALUES (1, true), (2, false);
  INSERT INTO more.docs VALUES (1, true), (2, false);
  INSERT INTO more."it's ""docs""" VALUES (1, true), (2, false);
  INSERT INTO parts VALUES (1, true), (2, false), (11, true), (12, false);
  INSERT INTO child VALUES (1, true), (2, false);
  REFRESH MATERIALIZED VIEW stored;
  ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
  ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
  ALTER TABLE more.docs ENABLE ROW LEVEL SECURITY;
  ALTER TABLE more."it's ""docs""" ENABLE ROW LEVEL SECURITY;
  ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
  ALTER TABLE parts_own ENABLE ROW LEVEL SECURITY;
  ALTER TABLE child ENABLE ROW LEVEL SECURITY;
  CREATE POLICY p ON docs USING (ok);
  CREATE POLICY p ON forced USING (ok);
  CREATE POLICY p ON more.docs USING (ok);
  CREATE POLICY p ON more."it's ""docs""" USING (ok);
  CREATE POLICY p ON parts USING (ok);
  CREATE POLICY p ON parts_own USING (ok);
  CREATE POLICY p ON child USING (ok);
  GRANT SELECT ON ALL TABLES IN SCHEMA public, more TO ROLE_, OTHER_;`;

const views: ReadonlySet<string> = new Set([
  ...["definer", "invoker", "definer_of_invoker", "invoker_of_definer", "not_invoker", "deep"],
  ...["of_plain", "of_part", "of_other", "own", "stored"],
]);

const view = "a view has the rights of its owner, unless it is security_invoker";
const stored = "a materialized view contains the rows that its owner could read";
const named = "policies apply only to the table that a statement names";
const exempt = "policies do not apply to this role";

const quoted = `more.it's "docs"`;

/** What a role that no policy restricts gets as notices for each relation. */
const ofExempt = {
  ...{
    [quoted]: [quoted],
    plain: [],
    docs: ["docs"],
    forced: ["forced"],
    "more.docs": ["more.docs"],
  },
  ...{ parts: ["parts"], parts_low: [`parts: ${named}`], parts_own: ["parts_own"] },
  ...{ parent: [`child: ${named}`], child: ["child"], of_plain: [] },
  ...{ definer: [`docs: ${view}`], invoker: [`docs: ${exempt}`], not_invoker: [`docs: ${view}`] },
  ...{ definer_of_invoker: [`docs: ${exempt}`], invoker_of_definer: [`docs: ${view}`] },
  ...{ deep: [`more.docs: ${exempt}`], of_part: [`parts: ${named}`] },
  ...{ of_other: [`docs: ${view}`], own: [`docs: ${exempt}`], stored: [`docs: ${stored}`] },
};

/** What a role that the policies restrict gets. */
const ofRestricted = {
  ...{
    [quoted]: [],
    plain: [],
    docs: [],
    forced: [],
    "more.docs": [],
    parts: [],
    parts_own: [],
    child: [],
  },
  ...{ parts_low: [`parts: ${named}`], parent: [`child: ${named}`], of_plain: [], deep: [] },
  ...{ definer: [`docs: ${view}`], invoker: [], definer_of_invoker: [] },
  ...{ invoker_of_definer: [`docs: ${view}`], not_invoker: [`docs: ${view}`] },
  ...{ of_part: [`parts: ${named}`], of_other: [`docs: ${view}`], own: [] },
  stored: [`docs: ${stored}`],
};

const ownsAll = "ALTER TABLE docs OWNER TO ROLE_; ALTER TABLE forced OWNER TO ROLE_;" +
  "ALTER TABLE more.docs OWNER TO ROLE_;";

/** What the owner of `docs` and `more.docs` gets, which policies restrict by other tables. */
const ofOwner = {
  ...ofRestricted,
  ...{ docs: ["docs"], "more.docs": ["more.docs"], deep: [`more.docs: ${exempt}`] },
  ...{ invoker: [`docs: ${exempt}`], definer_of_invoker: [`docs: ${exempt}`] },
  own: [`docs: ${exempt}`],
};

/** The kinds of role: what makes a role one, and what it gets. */
const kinds = {
  "a plain role": { grant: "", notices: ofRestricted },
  "a superuser": { grant: "ALTER ROLE ROLE_ SUPERUSER;", notices: ofExempt },
  "a role with BYPASSRLS": { grant: "ALTER ROLE ROLE_ BYPASSRLS;", notices: ofExempt },
  "an owner": { grant: ownsAll, notices: ofOwner },
  "an owner with FORCE": {
    grant: `${ownsAll} ALTER TABLE docs FORCE ROW LEVEL SECURITY;
      ALTER TABLE more.docs FORCE ROW LEVEL SECURITY;`,
    notices: ofRestricted,
  },
  "a member of the owner": {
    grant: `${ownsAll.replaceAll("ROLE_", "OTHER_")} GRANT OTHER_ TO ROLE_;`,
    notices: ofOwner,
  },
  "a member that does not inherit": {
    grant: `${ownsAll.replaceAll("ROLE_", "OTHER_")} ALTER ROLE ROLE_ NOINHERIT;
      GRANT OTHER_ TO ROLE_;`,
    notices: ofRestricted,
  },
};

/** Compares what the catalog says with the rows that the role can see. */
async function requireNotices(
  driver: Driver,
  notices: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const tables = Object.keys(notices).map((label) => {
    const [name = "", schema = null] = label.split(".").toReversed();
    return createTableInfo({ name, schema, label, columns: [], foreignKeys: [], own: false });
  });
  const limits = await readRoleLimits(driver, tables);
  // Each read of the change log asks for the same tables.
  let secured: ReadonlySet<TableInfo> = new Set();
  const watched = new RowPolicyTables(tables, (changed) => secured = changed);
  const { rows: [[places = ""] = []] } = await driver.query({
    text: `SELECT ${watched.column}`,
    values: [],
  });
  watched.note(String(places));
  const bypasses = await readPolicyBypasses(driver, tables);
  const found = tables.map((table) => [
    table.label,
    (bypasses.get(table) ?? []).map(({ of, why }) => why === null ? of : `${of}: ${why}`),
  ]);
  assertEquals(Object.fromEntries(found), notices);
  for (const table of tables) {
    const text = `SELECT count(*)::text FROM ${sqlName(table)}`;
    const { rows: [[count] = []] } = await driver.query({ text, values: [] });
    const all = table.label === "parts" ? "4" : "2";
    const { hidesRows } = limits.get(table) ?? {};
    assertEquals([table.label, hidesRows], [table.label, count !== all]);
    if (!views.has(table.name)) assertEquals(secured.has(table), hidesRows, table.label);
  }
}

testOnPostgres(
  "statistics of tables of a foreign server are not known to obey policies",
  async (url) => {
    await using db = disposable(await openDatabase(url));
    const statements = `CREATE FOREIGN DATA WRAPPER far;
    CREATE SERVER far FOREIGN DATA WRAPPER far;
    CREATE FOREIGN TABLE remote (id int) SERVER far;
    CREATE TABLE parts (id int) PARTITION BY RANGE (id);
    CREATE FOREIGN TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9) SERVER far;
    CREATE VIEW of_remote AS SELECT * FROM remote;
    CREATE VIEW of_parts AS SELECT * FROM parts;
    CREATE TABLE near (id int);`;
    await runScript(db.driver, statements.replaceAll(/;\s*/g, ";\n"));
    const tables = ["remote", "parts", "of_remote", "of_parts", "near"].map((name) =>
      createTableInfo({ name, schema: null, columns: [], foreignKeys: [], own: false })
    );
    const limits = await readRoleLimits(db.driver, tables);
    assertEquals(tables.map((table) => limits.get(table)?.mayEstimate), [
      ...[false, false, false, false, true],
    ]);
  },
);

/** Creates the tables and both roles, for a test with a role of this kind. */
function setUp(driver: Driver, grant: string, name: string): Promise<void> {
  const other = `${name}_other`;
  const statements = `CREATE ROLE ROLE_ LOGIN; CREATE ROLE OTHER_; ${script} ${grant}`
    .replaceAll("OTHER_", other).replaceAll("ROLE_", name).replaceAll(/;\s*/g, ";\n");
  return runScript(driver, statements);
}

for (const [kind, { grant, notices }] of Object.entries(kinds)) {
  testOnPostgres(`what policies hide from ${kind}`, async (url) => {
    await using admin = disposable(await openDatabase(url));
    const name = `role_${crypto.randomUUID().replaceAll("-", "")}`;
    const own = new URL(url);
    own.username = name;
    try {
      await setUp(admin.driver, grant, name);
      await using db = disposable(await openDatabase(own.href));
      await requireNotices(db.driver, notices);
    } finally {
      await runScript(
        admin.driver,
        `DROP OWNED BY ${name}, ${name}_other CASCADE;\nDROP ROLE ${name}, ${name}_other`,
      );
    }
  });
}

Deno.test("pglite: what policies hide from a role that the session has", async () => {
  const { path, remove } = await copyPglite();
  try {
    await using db = disposable(await openDatabase(`pglite:${path}`));
    await setUp(db.driver, "", "member");
    await runScript(db.driver, "SET ROLE member");
    await requireNotices(db.driver, ofRestricted);
    const docs = table("docs", { id: integer().primaryKey(), ok: boolean() });
    const resources = [resource(docs, { id: docs.id, auth: { public: true } })];
    const runtime = { ...systemRuntime(() => {}), cron: undefined };
    await assertRejects(
      () => createApp({ db, resources, runtime }),
      Error,
      'Cannot serve "docs": live streams would send rows that row level security hides from the ' +
        'role "member".',
    );
  } finally {
    await remove();
  }
});

function disposable(db: Database): Database & AsyncDisposable {
  return { ...db, [Symbol.asyncDispose]: () => db.close() };
}
