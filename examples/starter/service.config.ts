/** The service: its database, its users, and who may do what. Every command reads this file. */
import { eq, openDatabase, resource, rsql, type ServeConfig, type User } from "@svc/resource-api";
import { apiKeyAuth, passwordAuth } from "@svc/resource-api/auth";
import { lists, tasks } from "./tables.ts";

const env = (name: string) => Deno.env.get(name) || undefined;
await Deno.mkdir("data", { recursive: true });

// A user has the rights to the rows that match these filters, and to no other rows.
const mine = (user: User) => eq(lists.ownerId, user.id);
const inMine = (user: User) => rsql`list.ownerId==${user.id}`;

export default {
  db: await openDatabase(env("DATABASE") ?? "sqlite:data/app.db"),
  kv: env("KV") ?? "data/app.kv", // sessions, API keys and limits
  port: Number(env("PORT") ?? 8000),
  host: env("HOST") ?? "127.0.0.1",
  auth: {
    // Without `verify`, a signup needs no mail. For mails, set `sendMail` and `links`.
    use: [
      apiKeyAuth(),
      passwordAuth({ signup: { verify: false }, passwordReset: false }),
    ],
  },
  idempotency: { storage: "db" }, // a write that arrives twice is executed once
  resources: [
    resource(lists, {
      id: lists.id,
      auth: {
        read: mine,
        subscribe: mine,
        create: mine,
        update: mine,
        delete: mine,
      },
      generatedFields: [lists.id, lists.ownerId], // a new list belongs to its user
      relations: {
        tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.listId },
      },
    }),
    resource(tasks, {
      id: tasks.id,
      auth: {
        read: inMine,
        subscribe: inMine,
        create: inMine,
        update: inMine,
        delete: inMine,
      },
      etag: { versionField: tasks.version },
      generatedFields: [tasks.id, tasks.version, tasks.createdAt],
      relations: {
        list: { type: "belongsTo", resource: lists, foreignKey: tasks.listId },
      },
    }),
  ],
} satisfies ServeConfig;
