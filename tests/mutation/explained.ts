/**
 * Mutants that survive because they change no behaviour that is promised, each with the reason. The
 * key is the file, the operator and the code, as `deno task mutate` prints them.
 */
export const explained: Readonly<Record<string, string>> = {
  "src/plan/cursor.ts: negated: column.notNull":
    "the mark for a nullable column is then at the others, and still tells both apart",
};
