/**
 * Mutants that survive because they change no behaviour that is promised, each with the reason. The
 * key is the file, the operator and the code, as `deno task mutate` prints them.
 */
export const explained: Readonly<Record<string, string>> = {
  "src/guard/budget/local_token_allowance.ts: < to <=: now - this.#storeCalledAt < memoryMs":
    "a share is fetched or not at exactly the end of the time, and the limit holds with both",
  "src/guard/budget/request_budget.ts: plus 1: 22":
    "a hash of one more character tells as many callers apart",
  "src/guard/pow/proof_of_work.ts: plus 1: 0":
    "no request that asks for the difficulty over a budget is without a budget",
  "src/plan/cursor.ts: negated: column.notNull":
    "the mark for a nullable column is then at the others, and still tells both apart",
};
