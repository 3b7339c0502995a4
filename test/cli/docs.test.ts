import { expect, test } from "vitest";
import { EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { runHere } from "./stage.ts";

/** Names of all commands, from the help itself. */
async function commandNames(): Promise<string[]> {
	const { out } = await runHere(["--help"]);
	const section = out.slice(out.indexOf("Commands:"), out.indexOf("Exit codes:"));
	return [...section.matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name]) => name as string).filter((name) => name !== "help");
}

test("docs/cli.md is what --help says (vitest -u writes it anew)", async () => {
	const names = await commandNames();
	expect(names).toEqual([
		..."serve dev submit get list wait tail events attempts explain cancel replay delete priority tags".split(" "),
		..."revoke approvals approve signal resume flows lanes workers budgets quotas keys".split(" "),
		..."backup import doctor bench".split(" "),
	]);
	const parts = [
		"# Command line",
		"After `npm run build`, `npx flowfabric` in a checkout; in a project that depends on it, likewise. This page is the\noutput of `--help`; a test keeps it so.",
		block((await runHere(["--help"])).out),
	];
	for (const name of names) {
		const { out, code } = await runHere([name, "--help"]);
		expect(code).toBe(0);
		expect(out, `${name} shows examples`).toContain("Examples:");
		expect(out, `${name} has --json`).toContain("--json");
		parts.push(`## ${name}`, block(out));
	}
	await expect(`${parts.join("\n\n")}\n`).toMatchFileSnapshot("../../docs/cli.md");
});

test("exit codes are numbered once each, from 0", () => {
	expect(Object.values(EXIT_CODES).map(({ code }) => code)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

const block = (text: string): string => `\`\`\`text\n${text.trimEnd()}\n\`\`\``;
