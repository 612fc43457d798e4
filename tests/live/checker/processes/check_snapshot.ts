/** Measures a snapshot that is read slowly: `deno task check-snapshot [bytes per second] [rows]`. */
import { readSlowly } from "./slow_snapshot.ts";

const [bytesPerSecond = "50000", rows = "100000"] = Deno.args;
console.log(await readSlowly(Number(rows), Number(bytesPerSecond)));
