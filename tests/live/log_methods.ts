import type { ChangeLog } from "../../src/db/changes/change_log.ts";

/** The methods of a log as a plain object, some of which a test can replace. */
export function logMethods(log: ChangeLog): ChangeLog {
  return {
    tables: log.tables,
    secret: log.secret,
    end: () => log.end(),
    next: (from) => log.next(from),
    readAt: (statement, limits) => log.readAt(statement, limits),
    parse: (token) => log.parse(token),
    holds: (position) => log.holds(position),
    onHint: (look) => log.onHint(look),
    size: () => log.size(),
    purge: () => log.purge(),
    close: () => log.close(),
  };
}
