import { expect, it } from "vitest";
import { type Found, JointReads } from "../../src/store/sqlite/joint-reads.ts";

/** A store that answers when told; the document of a key is its name. */
function asked() {
	const questions: { keys: readonly string[]; answer(): void; refuse(): void }[] = [];
	const reads = new JointReads(
		(keys) =>
			new Promise<{ time: number; found: Found }>((resolve, reject) => {
				const answer = () => resolve({ time: 5, found: keys.flatMap((key) => [1, key]) });
				questions.push({ keys: [...keys], answer, refuse: () => reject(new Error("away")) });
			}),
	);
	return { reads, questions };
}

const aTurn = () => new Promise((resolve) => setImmediate(resolve));
const docs = async (answer: ReturnType<JointReads["read"]>) => (await answer).records.map(({ doc }) => doc);

it("reads of one turn are asked for as one, and each reader gets its own", async () => {
	const { reads, questions } = asked();
	const answers = [reads.read(["a", "b"]), reads.read([]), reads.read(["c"])].map(docs);
	await aTurn();
	expect(questions.map(({ keys }) => keys)).toEqual([["a", "b", "c"]]);
	questions[0]?.answer();
	expect(await Promise.all(answers)).toEqual([["a", "b"], [], ["c"]]);
});

it("reads that come while others are on their way wait for those and go together", async () => {
	const { reads, questions } = asked();
	const first = docs(reads.read(["a"]));
	await aTurn();
	const second = docs(reads.read(["b"]));
	await aTurn();
	const third = docs(reads.read(["c"]));
	await aTurn();
	expect(questions).toHaveLength(1);
	questions[0]?.answer();
	expect(await first).toEqual(["a"]);
	await aTurn();
	expect(questions[1]?.keys).toEqual(["b", "c"]);
	questions[1]?.answer();
	expect([await second, await third]).toEqual([["b"], ["c"]]);
});

it("what waited behind reads that failed is asked for all the same", async () => {
	const { reads, questions } = asked();
	const first = reads.read(["a"]);
	await aTurn();
	const second = docs(reads.read(["b"]));
	questions[0]?.refuse();
	await expect(first).rejects.toThrow("away");
	await aTurn();
	questions[1]?.answer();
	expect(await second).toEqual(["b"]);
});

it("what has gathered goes at once when told", async () => {
	const { reads, questions } = asked();
	const answer = docs(reads.read(["a"]));
	reads.send();
	expect(questions).toHaveLength(1);
	questions[0]?.answer();
	expect(await answer).toEqual(["a"]);
	await aTurn();
	expect(questions).toHaveLength(1);
});
