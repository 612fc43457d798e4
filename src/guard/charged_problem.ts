import { Problem } from "../problem/problem.ts";

/** A problem with a server error status that the client has caused. The request stays charged. */
export class ChargedProblem extends Problem {}
