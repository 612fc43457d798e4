import { Problem } from "../problem/problem.ts";

/** A checkout field that is invalid, and the rule that it breaks. */
export interface CheckoutFault {
  readonly path: string;
  readonly message: string;
}

/** Returns the 422 for a checkout that cannot be created. */
export function invalidCheckout(errors: readonly CheckoutFault[]): Problem {
  const [first] = errors;
  return new Problem(
    "validation-error",
    `Cannot check out: ${first?.path} ${first?.message}`,
    { details: { errors } },
  );
}
