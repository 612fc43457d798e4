/** Opens an app with a store in a file, and prints what that says. */
import { createApp, openDatabase } from "../../mod.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";

const db = await openDatabase(await openPostgres("postgres://nobody@127.0.0.1:1/none"));
const secret = "a secret for the tests only";
try {
  const app = await createApp({ db, resources: [], secret, kv: "limits.kv" });
  await app.close();
  console.log("opened");
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
}
await db.close();
