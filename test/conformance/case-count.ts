import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

/**
 * A conformance suite is only worth something if every implementation runs all of it. Suites name their outermost block
 * with `suiteTitle`; this reporter counts the cases that ran under each title over all files of a run, prints them, and
 * fails the run when a case was skipped or one implementation ran cases that another did not.
 */
export const suiteTitle = (suite: string, implementation: string): string =>
	`conformance: ${suite} on ${implementation}`;

const titleForm = /^conformance: (.+?) on (.+)$/;

export interface RanCase {
	suite: string;
	implementation: string;
	name: string;
	ran: boolean;
}

/** One line per implementation, and everything that is wrong. */
export function compareCases(cases: readonly RanCase[]): { lines: string[]; problems: string[] } {
	const suites = new Map<string, Map<string, Set<string>>>();
	const known = new Set<string>();
	const problems: string[] = [];
	for (const { suite, implementation, name, ran } of cases) {
		const implementations = suites.get(suite) ?? new Map<string, Set<string>>();
		suites.set(suite, implementations);
		const names = implementations.get(implementation) ?? new Set<string>();
		implementations.set(implementation, names);
		known.add(keyOf(suite, implementation, name));
		if (ran) names.add(name);
		else problems.push(`${suite} on ${implementation}: did not run "${name}"`);
	}
	const lines: string[] = [];
	for (const [suite, implementations] of suites) {
		const all = new Set([...implementations.values()].flatMap((names) => [...names]));
		for (const [implementation, names] of implementations) {
			lines.push(`${suite} on ${implementation}: ${names.size} cases`);
			for (const name of all) {
				if (!known.has(keyOf(suite, implementation, name)))
					problems.push(`${suite} on ${implementation}: has no case "${name}", others have`);
			}
		}
	}
	return { lines, problems };
}

const keyOf = (...parts: string[]): string => JSON.stringify(parts);

/** After a bail thousands of cases did not run: naming them all would hide the failures above them. */
const SHOWN_PROBLEMS = 20;

export default class CaseCountReporter implements Reporter {
	#vitest: Vitest | undefined;

	onInit(vitest: Vitest): void {
		this.#vitest = vitest;
	}

	onTestRunEnd(modules: readonly TestModule[]): void {
		const { lines, problems } = compareCases(
			modules.flatMap((module) => [...module.children.allTests()].flatMap(asRan)),
		);
		if (lines.length === 0) return;
		console.log(`\nConformance\n${lines.map((line) => `  ${line}`).join("\n")}\n`);
		// Whoever names cases on the command line wants no others.
		if (problems.length === 0 || this.#vitest?.config.testNamePattern) return;
		const shown = problems.slice(0, SHOWN_PROBLEMS).map((line) => `  ${line}`);
		if (problems.length > shown.length) shown.push(`  and ${problems.length - shown.length} more`);
		console.error(`Conformance suites are not complete:\n${shown.join("\n")}\n`);
		process.exitCode = 1;
	}
}

function asRan(test: TestCase): RanCase[] {
	let name = test.name;
	for (let at: TestCase["parent"] = test.parent; at.type === "suite"; at = at.parent) {
		const title = titleForm.exec(at.name);
		if (title) {
			const { state } = test.result();
			return [
				{ suite: title[1] ?? "", implementation: title[2] ?? "", name, ran: state === "passed" || state === "failed" },
			];
		}
		name = `${at.name} > ${name}`;
	}
	return [];
}
