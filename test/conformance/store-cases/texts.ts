import { expect } from "vitest";
import { type Case, entry, event, gone, put, type Trial, unit } from "../trial.ts";

const texts: Record<string, string> = {
	"quotes and backslashes": `'; DROP TABLE record; -- "\\" \`\${x}\` \\u0000`,
	"newlines, tabs and control characters": "a\r\nb\tc\u0001\u001f\u007f",
	"the null character": "before\u0000after",
	"emoji and characters beyond the first plane": "🦊👩‍👩‍👧‍👦𝒳 𐍈",
	"composed and decomposed accents, unchanged": "é e\u0301 ﬁ Å",
	"text from right to left": "שלום \u202eabc\u202c مرحبا",
	"the last characters of the first plane": "\ufeff\ufffd\uffff\ue000",
	"a lone high surrogate": "x\ud83dy",
	"a lone low surrogate": "\udca9",
	"what looks like a number or null": "007",
	"a space at either end": "  padded  ",
	"text as long as a page": "långt ".repeat(700),
};

/** Puts a text wherever the port takes one, and reads it back from there. */
async function expectKept(trial: Trial, text: string): Promise<void> {
	const version = await trial.apply([
		unit({
			expected: [[text, 0]],
			put: [{ key: text, doc: text }],
			indexAdded: [entry(text, 1, text)],
			events: [event(text, text)],
			blobs: [{ key: text, bytes: Buffer.from("bytes") }],
		}),
	]);
	expect(await trial.record(text)).toEqual({ key: text, version, doc: text });
	expect(await trial.keys(text)).toEqual([text]);
	expect(await trial.queues(text)).toEqual([text]);
	expect(await trial.bodies(text)).toEqual([text]);
	expect(await trial.bodies()).toEqual([text]);
	expect(await trial.blob(text)).toEqual([...Buffer.from("bytes")]);
	expect(await trial.records()).toEqual([{ key: text, version, doc: text }]);
	expect(await trial.blobKeys()).toEqual([text]);
	const { results } = await trial.commit([put(text, "other")]);
	expect(results).toEqual([{ ok: false, current: [{ key: text, version, doc: text }] }]);
	await trial.apply([
		unit({
			expected: [[text, version]],
			removed: [text],
			indexRemoved: [entry(text, 1, text)],
			forgotten: gone(text),
			blobsRemoved: [text],
		}),
	]);
	expect(await trial.queues()).toEqual([]);
	expect(await trial.bodies(text)).toEqual([]);
	expect(await trial.blob(text)).toBeUndefined();
	expect((await trial.record(text)).version).toBe(0);
}

export function textCases(test: Case): void {
	for (const [name, text] of Object.entries(texts)) {
		test(`${name} are kept in keys, documents, queues, events and blobs`, (trial) => expectKept(trial, text));
	}

	test("keys that look alike are different keys", async (trial) => {
		const keys = ["a", "A", "a ", " a", "a\u0000", "é", "e\u0301", "\ud83d", "\ud83e", "\ufffd", "0", "00", "a\n"];
		await trial.apply(keys.map((key, n) => put(key, `doc ${n}`)));
		const { records } = await trial.store.read(trial.home, keys);
		expect(records.map(({ doc }) => doc)).toEqual(keys.map((_, n) => `doc ${n}`));
	});

	test("entries whose keys are strange are paged through, each once", async (trial) => {
		const keys = ["a", "z", "é", "日本", "\ue000", "\uffff", "🦊", "𐍈", "\ud83d", "\udca9", "a\u0000", " "];
		await trial.apply([unit({ indexAdded: keys.map((key) => entry("q", 1, key)) })]);
		const seen: { score: number; key: string }[] = [];
		for (;;) {
			const [next] = (await trial.store.first(trial.home, "q", 1, seen.at(-1))).entries;
			if (!next) break;
			seen.push(next);
		}
		expect(seen.map(({ key }) => key).sort()).toEqual([...keys].sort());
	});

	test("engines are told apart whatever their names", async (trial) => {
		await trial.apply([put("a", "1")], { engine: "🦊'", number: 1 });
		await trial.apply([put("b", "2")], { engine: "🦊", number: 1 });
		await trial.apply([put("c", "3")], { engine: "\ud83e", number: 1 });
		expect((await trial.commit([put("a", "1")], { engine: "🦊'", number: 1 })).results).toEqual([{ ok: true }]);
	});
}
