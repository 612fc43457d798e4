/**
 * Hooks and a procedure: a shop whose stock can neither be sold twice nor changed without a trace.
 *
 *     deno run -A examples/hooks_and_procedures.ts
 *
 *     curl http://127.0.0.1:8000/api/products -H 'x-user: ada' --json '{"name":" Lamp ","stock":3}'
 *     # {"id":1,"name":"Lamp","stock":3}
 *     curl http://127.0.0.1:8000/api/products/rpc/buy -H 'x-user: bob' --json '{"id":1,"count":2}'
 *     # {"data":{"left":1}}
 *     curl http://127.0.0.1:8000/api/products/rpc/buy -H 'x-user: bob' --json '{"id":1,"count":2}'
 *     # {…"status":409,…"detail":"Only 1 left"…}
 *     curl http://127.0.0.1:8000/api/products/rpc/buy -H 'x-user: bob' --json '{"id":1,"count":-2}'
 *     # {…"status":422,…}
 *     curl http://127.0.0.1:8000/api/history?select=user,event -H 'x-user: ada'
 *     # {"items":[{"user":"ada","event":"created with 3"},{"user":"bob","event":"bought 2"}],…}
 */
import {
  all,
  type DatabaseHandle,
  gte,
  integer,
  none,
  openDatabase,
  Problem,
  procedure,
  resource,
  serve,
  table,
  text,
  type User,
} from "@svc/resource-api";
import { z } from "zod";

const products = table("products", {
  id: integer().primaryKey(),
  name: text().notNull(),
  stock: integer().notNull(),
});
const history = table("history", {
  id: integer().primaryKey(),
  productId: integer().notNull().as("product_id"),
  user: text().notNull(),
  event: text().notNull(),
});
// The statements below are the same with a `postgres://` URL.
const db = await openDatabase("sqlite::memory:");
await db.createTables([products, history]);

const staff = (user: User) => user.id === "ada" ? all() : none();

const buy = procedure({
  input: z.object({ id: z.int(), count: z.int().positive() }),
  output: z.object({ left: z.int() }),
  // No scope applies to SQL: the handler itself says that every user may buy.
  handler: ({ db, user }, { id, count }) =>
    db.transaction(async (tx) => {
      // One statement, so that two buyers at once cannot both have the last one.
      const { changed } = await tx.sql`
        UPDATE ${products} SET ${products.stock} = ${products.stock} - ${count}
        WHERE ${products.id} = ${id} AND ${gte(products.stock, count)}`;
      const { rows: [product] } = await tx.sql<{ stock: number }>`
        SELECT ${products.stock} FROM ${products} WHERE ${products.id} = ${id}`;
      if (product === undefined) throw new Problem("not-found", `There is no product ${id}`);
      if (changed === 0) throw new Problem("conflict", `Only ${product.stock} left`);
      await record(tx, id, user, `bought ${count}`);
      return { left: product.stock };
    }),
});

async function record(db: DatabaseHandle, productId: number, user: User | null, event: string) {
  await db.sql`
    INSERT INTO ${history} (${history.productId}, ${history.user}, ${history.event})
    VALUES (${productId}, ${user?.id ?? "unknown"}, ${event})`;
}

await serve({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
    },
  },
  resources: [
    resource(products, {
      id: products.id,
      auth: { public: { read: true }, create: staff },
      procedures: { buy },
      hooks: {
        // May change the body, or refuse it with a Problem.
        onBeforeCreate: (_context, { name = "", ...rest }) => {
          if (name.trim() === "") throw new Problem("validation-error", "A product needs a name");
          return { ...rest, name: name.trim() };
        },
        // In the transaction of the row: both are written, or neither.
        onAfterCreate: ({ db, user }, { id, stock }) =>
          record(db, id, user, `created with ${stock}`),
      },
    }),
    resource(history, { id: history.id, auth: { read: staff } }),
  ],
});
