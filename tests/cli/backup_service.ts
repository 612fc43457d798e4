/** A service whose files are backed up. As a program, it serves and writes until it is stopped. */
import { all, createApp, integer, openDatabase, resource, table } from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { openCreditsLedger } from "../../exports/billing.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

/** The credits of the account before the first write. Each write consumes one. */
export const granted = 1_000_000;

/** Opens the service whose files are in a folder, and the ledger of its credits. */
export async function openShop(folder: string) {
  const notes = table("notes", { id: integer().primaryKey(), n: integer().notNull() });
  const db = await openDatabase(`node-sqlite:${folder}/shop.db`);
  await db.migrate([notes]);
  const kv = await Deno.openKv(`${folder}/service.kv`);
  const [app, ledger] = [
    await createApp({
      ...{
        db,
        kv,
        runtime: systemRuntime(() => {}),
        secret: "the same secret before and after a restore",
      },
      auth: { use: [passwordAuth({ signup: { verify: false }, passwordReset: false })] },
      resources: [
        resource(notes, { id: notes.id, auth: { read: all, subscribe: all, create: all } }),
      ],
    }),
    await openCreditsLedger({ kv }),
  ];
  return {
    app,
    ledger,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

if (import.meta.main) {
  const { app, ledger } = await openShop(".");
  await ledger.grant("ada", granted, { key: "all" });
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, app.fetch);
  console.log(`http://127.0.0.1:${server.addr.port}/`);
  const writer = app.as({ id: "ada" });
  for (let n = 1;; n++) {
    await ledger.consume("ada", 1, { key: `write ${n}` });
    await writer.notes.create({ n });
  }
}
