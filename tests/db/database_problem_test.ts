import { assert, assertEquals } from "@std/assert";
import { DatabaseError, databaseProblem } from "../../src/db/database_error.ts";
import { Problem } from "../../src/problem/problem.ts";

Deno.test("databaseProblem() says which end of a reference is missing", () => {
  const details = ["create", "update", "delete"].map((access) => {
    const problem = databaseProblem(new DatabaseError("foreign-key", new Error("sql")), access);
    assert(problem instanceof Problem);
    assertEquals(problem.status, 409);
    return problem.message;
  });
  assertEquals(details, [
    "Cannot create: there is no row that this one refers to",
    "Cannot update: it would leave a reference without its row",
    "Cannot delete: another row refers to this one",
  ]);
});

Deno.test("databaseProblem() returns other errors as they are", () => {
  const other = new DatabaseError("other", new Error("no such table"));
  assertEquals(databaseProblem(other, "read"), other);
  const foreign = new TypeError("x");
  assertEquals(databaseProblem(foreign, "read"), foreign);
});
