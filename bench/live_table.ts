import { integer, real, table, text } from "../mod.ts";

/** The rows that the streams of `live_bench.ts` follow. `stamp` is the time of the write. */
export const ticks = table("bench_ticks", {
  id: integer().primaryKey(),
  topic: integer().notNull(),
  stamp: real(),
  /** The body makes an event about 300 bytes long. */
  body: text().notNull(),
});

/** The number of rows of one topic, equal to the changes in a batch of `live_bench.ts`. */
export const rowsPerTopic = 20;
export const topicCount = 100;
export const tickBody = "x".repeat(200);
