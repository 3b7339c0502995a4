import type { Role, RouteName } from "../../../src/server/access.ts";
import type { Name, Values } from "./names.ts";

/** What a request says beyond its route. */
export interface Ask {
	params?: Record<string, string | number>;
	query?: Record<string, string | number | boolean | undefined>;
	body?: unknown;
	headers?: Record<string, string>;
}

/** A valid request, made of things that it names. */
export interface Recipe {
	names: readonly Name[];
	ask(values: Values, role: Role): Ask;
	/** The status when all it names is the caller's own. */
	status: number;
	/** It concerns every namespace: a bound token is refused. */
	isForUnbound: boolean;
}

interface More {
	status?: number;
	isForUnbound?: boolean;
}

export function recipe<N extends Name>(
	names: readonly N[],
	ask: (values: Pick<Values, N>, role: Role) => Ask = () => ({}),
	{ status = 200, isForUnbound = false }: More = {},
): Recipe {
	return { names, ask, status, isForUnbound };
}

/** Every route has at least one: the compiler asks for it, and the test does once more. */
export type Recipes = Record<RouteName, readonly Recipe[]>;

/** A call by a holder about what it holds. */
export const held = (body: object, more?: More): Recipe =>
	recipe(["held", "fence"], ({ held: id, fence }) => ({ params: { id }, body: { fence, ...body } }), more);

/** A key that the caller has used for something else: that the answer says so shows whose keys are looked at. */
export const KEY_IN_USE = { status: 409 };
