import { postgresSyntax } from "../../../engines/postgres/sql/syntax.ts";
import { sqliteSyntax } from "../../../engines/sqlite/sql/syntax.ts";
import type { Engine } from "../../../sql/dialect.ts";
import type { SqlSyntax } from "../../../sql/statements/sql_syntax.ts";

/** Returns how an engine writes SQL, where a migration knows only its name. */
export function syntaxOf(engine: Engine): SqlSyntax {
  return engine === "sqlite" ? sqliteSyntax : postgresSyntax;
}
