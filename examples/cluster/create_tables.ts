/** Creates the tables. Run it once, before the services start for the first time. */
import { db, orders } from "./service.config.ts";

await db.createTables([orders]);
await db.close();
