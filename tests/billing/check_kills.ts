/** Kills processes at every await of the sequences of every vendor: `deno task check-kills`. */
import { killAtEveryMoment } from "./kills.ts";
import { sequences } from "./payments.ts";

for (const { name } of sequences) {
  console.log(`${name}: killed at ${await killAtEveryMoment(name)} moments, granted once`);
}
