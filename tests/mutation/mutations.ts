// Mutated modules have no types, and their operands are of any type that has the operator.
type Operand = number;

/**
 * Returns the functions that mutated modules call instead of their operators. `note` is called with
 * the number of each mutant whose code runs, and `active` is the number of the active mutant.
 */
export function createMutations(active: number, note: (id: number) => void) {
  const is = (id: number) => {
    note(id);
    return id === active;
  };
  return {
    is,
    not: (id: number, value: unknown) => is(id) ? !value : value,
    number: (id: number, value: number) => is(id) ? value + 1 : value,
    less: (id: number, a: Operand, b: Operand) => is(id) ? a <= b : a < b,
    atMost: (id: number, a: Operand, b: Operand) => is(id) ? a < b : a <= b,
    more: (id: number, a: Operand, b: Operand) => is(id) ? a >= b : a > b,
    atLeast: (id: number, a: Operand, b: Operand) => is(id) ? a > b : a >= b,
    equal: (id: number, a: Operand, b: Operand) => is(id) ? a !== b : a === b,
    unequal: (id: number, a: Operand, b: Operand) => is(id) ? a === b : a !== b,
    and: (id: number, a: unknown, b: () => unknown) => is(id) ? a || b() : a && b(),
    or: (id: number, a: unknown, b: () => unknown) => is(id) ? a && b() : a || b(),
    plus: (id: number, a: Operand, b: Operand) => is(id) ? a - b : a + b,
    minus: (id: number, a: Operand, b: Operand) => is(id) ? a + b : a - b,
  };
}
