import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { printTable } from "../../src/cli/format/table.ts";
import { length, relative } from "../../src/cli/format/times.ts";
import { Terminal } from "../../src/cli/terminal.ts";

function table(rows: [string, string, string][], columns?: number): string[] {
	let text = "";
	const out = {
		write: (chunk: string | Uint8Array) => (text += String(chunk)),
		...(columns && { isTTY: true, columns }),
	};
	const terminal = new Terminal(out, out, {});
	printTable(
		terminal,
		[
			{ title: "NAME", cell: ([name]) => name },
			{ title: "COUNT", cell: ([, count]) => count, align: "right", paint: (cell) => terminal.style("red", cell) },
			{ title: "REST", cell: ([, , rest]) => rest },
		],
		rows,
	);
	return text.trimEnd().split("\n");
}

test("columns are as wide as what is in them, numbers stand right, nothing trails", () => {
	expect(
		table([
			["a", "1", "x"],
			["longer", "20000000", ""],
		]),
	).toEqual(["NAME       COUNT  REST", "a              1  x", "longer  20000000"]);
});

test("a terminal's line is never longer than the terminal, wherever it is cut", () => {
	const row: [string, string, string] = ["some name", "12345", "a detail that goes on and on"];
	for (let width = 4; width < 60; width++) {
		for (const line of table([row], width)) {
			const shown = stripVTControlCharacters(line);
			expect(shown.length).toBeLessThanOrEqual(width);
			expect(line.split("\u001b[31m").length).toBe(line.split("\u001b[39m").length);
		}
	}
	expect(stripVTControlCharacters(table([row], 24)[1] ?? "")).toBe("some name  12345  a det…");
	expect(table([row])[1]).toBe("some name  12345  a detail that goes on and on");
});

test("what others wrote cannot colour the screen, move the cursor or break a line", () => {
	expect(table([["\u001b[31mred", "1\u0007", "two\nlines\u009b2J"]])[1]).toBe(
		"\\u001b[31mred  1\\u0007  two lines\\u009b2J",
	);
	expect(table([["user\u202etxt.exe", "1", "a\u2066b"]])[1]).toBe("user\\u202etxt.exe      1  a\\u2066b");
});

test.each([
	[340, "340 ms"],
	[2500, "2.5 s"],
	[59_999, "59 s"],
	[240_000, "4 min"],
	[3 * 3_600_000, "3 h"],
	[12 * 86_400_000, "12 d"],
])("%d ms is %s", (ms, text) => {
	expect(length(ms)).toBe(text);
});

test("times ahead and behind", () => {
	expect(relative(10_000, 15_000)).toBe("5.0 s ago");
	expect(relative(75_000, 15_000)).toBe("in 1 min");
	expect(relative(15_200, 15_000)).toBe("now");
});
