export function postgresLockOf(sql: string): string | null {
  return locks.find(([pattern]) => pattern.test(sql))?.[1] ?? null;
}

const named = String.raw`^ALTER TABLE (?:"[^"]*"|[^"\s])+`;

const locks: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`${named} ADD (?:CONSTRAINT "(?:[^"]|"")*" )?FOREIGN KEY`), "SHARE ROW EXCLUSIVE"],
  [new RegExp(`${named} VALIDATE`), "SHARE UPDATE EXCLUSIVE"],
  [/^(?:ALTER TABLE|DROP TABLE|DROP INDEX)/, "ACCESS EXCLUSIVE"],
  [/^CREATE (?:UNIQUE )?INDEX CONCURRENTLY/, "SHARE UPDATE EXCLUSIVE"],
  [/^CREATE (?:UNIQUE )?INDEX/, "SHARE"],
  [/^UPDATE/, "ROW EXCLUSIVE"],
];
