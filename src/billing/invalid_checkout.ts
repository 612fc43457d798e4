import { Problem } from "../problem/problem.ts";

/** A field of a checkout that is wrong, and what it must be. */
export interface CheckoutFault {
  readonly path: string;
  readonly message: string;
}

/** The 422 for a checkout that cannot be made. */
export function invalidCheckout(errors: readonly CheckoutFault[]): Problem {
  const [first] = errors;
  return new Problem(
    "validation-error",
    `Cannot check out: ${first?.path} ${first?.message}`,
    { details: { errors } },
  );
}
