import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Suites that take longest. Begun last, one of them would run on by itself while the other worker has nothing to do. */
const LONGEST = [/abuse\.test/, /simulation\.test/, /public\.test/, /faults/, /storm\.test/, /public-valkey/];

const rank = ({ moduleId }: TestSpecification): number => {
	const place = LONGEST.findIndex((name) => name.test(moduleId));
	return place < 0 ? LONGEST.length : place;
};

export class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
	}
}
