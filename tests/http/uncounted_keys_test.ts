import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { testOnDialects, withService } from "../support/http.ts";

const parents = table("parents", { id: integer().primaryKey(), name: text().notNull() });
const children = table("children", {
  id: integer().primaryKey(),
  parentId: integer().references(() => parents.id),
  name: text().notNull(),
});

const open = { public: true, create: () => all() } as const;
const ada = { "x-user": "ada" };

testOnDialects(
  "rows whose new keys do not count up come back in order, with their own children",
  (engine) =>
    withService(engine, [parents, children], () => ({
      resources: [
        resource(parents, {
          id: parents.id,
          auth: open,
          nestedWrites: true,
          relations: {
            children: { type: "hasMany", resource: children, foreignKey: children.parentId },
          },
        }),
        resource(children, { id: children.id, auth: open }),
      ],
    }), async ({ db, get, send }) => {
      // After the largest number SQLite takes others by chance; a sequence may count downwards.
      const text = db.dialect.engine === "sqlite"
        ? "INSERT INTO parents (id, name) VALUES (9223372036854775807, 'last')"
        : `ALTER TABLE parents ALTER COLUMN id SET INCREMENT -1 SET MINVALUE -100
           SET MAXVALUE 100 SET START 100 RESTART`;
      await db.query({ text, values: [] });
      const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
      const items = names.map((name) => ({ name, children: [{ name: `of ${name}` }] }));
      const { status, body } = await send("POST", "/api/parents/batch", { items }, ada);
      assertEquals(status, 201);
      assertEquals(body.items.map(({ name }: { name: string }) => name), names);
      const read = await get("/api/parents?include=children&limit=50&filter=name!=last");
      const pairs = read.body.items.map((
        { name, children: [child] }: { name: string; children: readonly { name: string }[] },
      ) => [child?.name, `of ${name}`]);
      assertEquals(pairs.length, names.length);
      for (const [found, expected] of pairs) assertEquals(found, expected);
    }),
);
