/**
 * An existing Postgres: two of its tables are served, with rights; the others stay out of reach.
 *
 *     psql "$DATABASE_URL" -c 'CREATE TABLE products \
 *       (id serial PRIMARY KEY, name text NOT NULL, purchase_price numeric)'
 *     psql "$DATABASE_URL" -c 'CREATE TABLE orders (id serial PRIMARY KEY, customer text NOT NULL, \
 *       product_id int NOT NULL REFERENCES products, placed_at timestamptz DEFAULT now())'
 *     psql "$DATABASE_URL" -c "INSERT INTO products (name, purchase_price) VALUES ('Lamp', 9.50)"
 *     DATABASE_URL=postgres://… deno run -A examples/existing_postgres.ts
 *
 *     curl http://127.0.0.1:8000/api/products
 *     # {"items":[{"id":1,"name":"Lamp"}],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/orders -H 'x-user: ada' --json '{"product_id":1}'
 *     # {"id":1,"customer":"ada","product_id":1,"placed_at":"…"}
 *     curl 'http://127.0.0.1:8000/api/orders?include=product&select=id' -H 'x-user: ada'
 *     # {"items":[{"id":1,"product":{"id":1,"name":"Lamp"}}],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/orders -H 'x-user: eve'
 *     # {"items":[],"nextCursor":null,"hasMore":false}
 */
import { openDatabase, resource, rsql, serve, type User } from "@svc/resource-api";

const db = await openDatabase(Deno.env.get("DATABASE_URL") ?? "postgres://localhost/shop");
const { tables } = await db.introspect();

function existing(name: string) {
  const table = tables.find((table) => table.name === name);
  if (table === undefined) throw new Error(`${db.label} has no table "${name}" with a primary key`);
  return table;
}

const own = (user: User) => rsql`customer==${user.id}`;

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
    resource(existing("products"), {
      id: "id",
      auth: { public: true },
      fields: { readable: ["id", "name"] }, // never `purchase_price`
    }),
    resource(existing("orders"), {
      id: "id",
      auth: { read: own, create: own },
      fields: { writable: ["product_id"] },
      generatedFields: ["customer"], // the user, by the scope `own`
    }),
  ],
});
