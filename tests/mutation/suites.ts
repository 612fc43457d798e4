/** The tests that may notice a change in a folder or a file. A longer path precedes its folder. */
export const suites: Readonly<Record<string, readonly string[]>> = {
  "src/plan/cursor.ts": [
    "tests/http/long_cursor_test.ts",
    "tests/http/list_test.ts",
    "tests/http/offset_test.ts",
    "tests/http/keyless_walk_test.ts",
    "tests/plan",
  ],
  "src/billing/ledger": [
    "tests/billing/ledger_limits_test.ts",
    "tests/billing/amounts_test.ts",
    "tests/billing/charged_test.ts",
    "tests/billing/ledger_model_test.ts",
    "tests/conformance/credits_ledger_test.ts",
    "tests/cli/credits_test.ts",
    "tests/http/charge_test.ts",
    "tests/http/charged_procedure_test.ts",
  ],
  // The tests of `act_as.ts` need Postgres, which these runs have not.
  "src/auth": [
    "tests/auth",
    "tests/http/policy_test.ts",
    "tests/http/policy_matrix_test.ts",
    "tests/http/role_matrix_test.ts",
    "tests/http/public_scope_test.ts",
    "tests/http/rights_mistakes_test.ts",
    "tests/identity/authenticators_test.ts",
  ],
  "src/guard": [
    "tests/guard",
    "tests/http/guard_test.ts",
    "tests/http/captcha_test.ts",
    "tests/http/charge_test.ts",
    "tests/http/batch_price_test.ts",
    "tests/http/idempotency_guard_test.ts",
    "tests/http/returned_solution_test.ts",
    "tests/mcp/mcp_test.ts",
  ],
  "src/resource/rights": [
    "tests/http/caller_fields_test.ts",
    "tests/http/relation_scope_test.ts",
    "tests/http/policy_test.ts",
    "tests/http/link_rights_test.ts",
  ],
  "src/identity": ["tests/identity"],
};
