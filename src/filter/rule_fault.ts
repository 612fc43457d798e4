/** A mistake in a rule of the program, such as a relation or a column of another table. */
export class RuleFault extends Error {}
