import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { ACCESS, OPEN, ROLES, type Role, type RouteName } from "../../../src/server/access.ts";
import { anonymous, type Caller, Matrix, mixes } from "./matrix.ts";
import { NAMES, type Name } from "./names.ts";
import { RECIPES } from "./recipes.ts";

/**
 * Every route, with the token of every role, bound to a namespace or not, for things of its own, of another tenant, and
 * things that are not there. What may be done is taken from the table of access; that a bound token cannot tell another
 * tenant's things from things that do not exist is judged by comparing answers.
 */

/** Files that are the same for everybody. */
const PAGES = ["GET /docs", "GET /docs/", "GET /docs/page.css", "GET /docs/page.js"];
const ROUTES = Object.keys(ACCESS) as RouteName[];

const rolesOf = (route: RouteName): readonly Role[] => {
	const roles: readonly Role[] | typeof OPEN = ACCESS[route];
	return roles === OPEN ? ROLES : roles;
};

const CALLERS: Caller[] = ROLES.flatMap((role) => [false, true].map((isBound) => ({ role, isBound })));

/** A cursor of nobody's cannot be made up; and where nothing is named, only the time differs. */
const isComparable = (theirs: readonly Name[]): boolean =>
	theirs.length > 0 && !theirs.some((name) => name.endsWith("Cursor"));

/** `open` gives the URL of a new store. */
export function accessSuite(open: () => Promise<string>): void {
	let matrix: Matrix;
	let before: string[];
	beforeAll(async () => {
		matrix = await Matrix.open(await open());
		before = await matrix.foreignState();
	});
	afterAll(() => matrix.close());

	test("every route of the table has a recipe, and the server has no route that is not in the table", async () => {
		expect(Object.keys(RECIPES).toSorted()).toEqual(ROUTES.toSorted());
		for (const [name, recipes] of Object.entries(RECIPES)) expect([name, recipes.length > 0]).toEqual([name, true]);
		expect((await matrix.registered()).toSorted()).toEqual([...ROUTES, ...PAGES].toSorted());
	});

	describe.each(ROUTES)("%s", (route) => {
		for (const [n, recipe] of RECIPES[route].entries()) {
			const label = `request ${n + 1}`;
			const isLetIn = ({ role, isBound }: Caller) => rolesOf(route).includes(role) && !(isBound && recipe.isForUnbound);

			it(`${label} is answered for those whom the table lets in`, async () => {
				for (const caller of CALLERS.filter(isLetIn)) {
					const own = await matrix.own().names(...recipe.names);
					const answer = await matrix.ask(route, recipe, own, caller);
					expect([caller, answer.status, answer.text]).toEqual([caller, recipe.status, expect.anything()]);
					if (caller.isBound) matrix.expectNothingForeign(answer, {});
				}
			});

			it(`${label} is refused to everybody else, in the same words whatever it names`, async () => {
				const [foreign, unknown] = await matrix.others(recipe.names);
				const strangers: Caller[] = [undefined, "a-token-nobody-has"].map((token) => ({ token, role: "admin" }));
				const refused = [...(ACCESS[route] === OPEN ? [] : strangers), ...CALLERS.filter((each) => !isLetIn(each))];
				for (const caller of refused) {
					const answer = await matrix.ask(route, recipe, unknown, caller);
					const expected = "token" in caller ? [401, "unauthorized"] : [403, "forbidden"];
					expect([caller, answer.status, ...answer.code]).toEqual([caller, ...expected]);
					expect(await matrix.ask(route, recipe, foreign, caller)).toEqual(answer);
				}
			});

			it(`${label} tells a bound token nothing of another tenant`, async () => {
				const own = await matrix.own().names(...recipe.names);
				for (const caller of CALLERS.filter((each) => each.isBound && isLetIn(each))) {
					for (const { theirs, unsaid } of mixes(recipe.names, ACCESS[route] === OPEN)) {
						const [foreign, unknown] = await matrix.others(theirs);
						const toUnknown = await matrix.ask(route, recipe, { ...own, ...unsaid, ...unknown }, caller);
						const toForeign = await matrix.ask(route, recipe, { ...own, ...unsaid, ...foreign }, caller);
						matrix.expectNothingForeign(toForeign, foreign);
						const about = `${caller.role} names another's ${theirs.join(", ")}`;
						if (isComparable(theirs)) expect([about, anonymous(toForeign)]).toEqual([about, anonymous(toUnknown)]);
					}
				}
			});
		}
	});

	test("after all of this the other tenant's things are as they were", async () => {
		expect(await matrix.foreignState()).toEqual(before);
	});

	test("everything a tenant can have is named by some request", () => {
		const named = new Set(Object.values(RECIPES).flatMap((recipes) => recipes.flatMap(({ names }) => names)));
		expect([...named].toSorted()).toEqual(NAMES.toSorted());
	});
}
