import { Problem } from "../problem/problem.ts";

export interface CheckoutFault {
  readonly path: string;
  readonly message: string;
}

export function invalidCheckout(errors: readonly CheckoutFault[]): Problem {
  const [first] = errors;
  return new Problem(
    "validation-error",
    `Cannot check out: ${first?.path} ${first?.message}`,
    { details: { errors } },
  );
}
