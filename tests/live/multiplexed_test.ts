import { assert, assertEquals } from "@std/assert";
import { insertRows, testOnEveryEngine } from "../support/http.ts";
import { comparable, lastToken, openMultiplexed } from "./multiplexed_support.ts";
import { ada, notes, withNotes } from "./notes.ts";

testOnEveryEngine(
  "fifty lists and aggregates on one stream get byte for byte what single streams get",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const { db, send, subscribe } = service;
      const rows = Array.from(
        { length: 20 },
        (_, id) => ({ id, title: `t${id}`, rank: id % 5, version: 1 }),
      );
      await insertRows(db, notes, rows);
      const paths = Array.from({ length: 50 }, (_, n) =>
        n % 5 === 4
          ? `/api/notes/aggregate/subscribe?groupBy=rank&count=true&filter=id>=${n}`
          : `/api/notes/subscribe?filter=id>=${n - 30}&select=id,title${
            n % 2 === 0 ? "" : ",rank"
          }`);
      const multiplexed = await openMultiplexed(
        service,
        paths.map((path, n) => ({ key: `k${n}`, path })),
      );
      const singles = await Promise.all(paths.map((path) =>
        subscribe(path)
      ));
      const isSynced = (text: string) => /"hasMore":false/.test(text);
      await multiplexed.until(() => [...multiplexed.texts.values()].filter(isSynced).length === 50);
      for (const single of singles) await single.next();
      await send("POST", "/api/notes", { id: 100, title: "new", rank: 1 }, ada);
      await send("PATCH", "/api/notes/7", { title: "other" }, ada);
      await send("DELETE", "/api/notes/8", undefined, ada);
      for (let n = 0; n < 3; n++) {
        await send("POST", "/api/notes", { id: 200 + n, title: "last", rank: 77 }, ada);
      }
      const isDone = (text: string) => /"id":202|"rank":77},"count":3/.test(text);
      await multiplexed.until(() => [...multiplexed.texts.values()].filter(isDone).length === 50);
      for (const [n, single] of singles.entries()) {
        while (!isDone(single.text)) await single.next();
        const text = multiplexed.texts.get(`k${n}`) ?? "";
        assertEquals(comparable(text), comparable(single.text));
        await single.close();
      }
      await multiplexed.close();
    }, { subscribe: { maxPerAddress: 100 } }),
);
