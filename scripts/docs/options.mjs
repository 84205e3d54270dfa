import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { table } from './markdown.mjs';

/** The members of an interface with their doc comments. Nested objects become rows of their own. */
export function optionsTable(file, name) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023, true);
  const found = source.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === name);
  if (found === undefined) throw new Error(`${file} has no interface ${name}`);
  return table(
    ['option', 'type', 'meaning'],
    found.members.flatMap((member) => rows(member, source, '')),
  );
}

function rows(member, source, prefix) {
  const name = `${prefix}${member.name?.getText(source) ?? ''}`;
  const type = member.type;
  if (ts.isPropertySignature(member) && type !== undefined && ts.isTypeLiteralNode(type)) {
    return type.members.flatMap((inner) => rows(inner, source, `${name}.`));
  }
  const optional = member.questionToken === undefined ? ' (required)' : '';
  return [[`\`${name}\`${optional}`, `\`${typeOf(member, source)}\``, docOf(member)]];
}

function typeOf(member, source) {
  if (!ts.isMethodSignature(member)) return (member.type?.getText(source) ?? 'unknown').replaceAll(/\s*\n\s*/g, ' ');
  return `(${member.parameters.map((parameter) => parameter.getText(source)).join(', ')}) => ${member.type?.getText(source)}`;
}

/** The doc comment of a node as one paragraph: links as code, tags as words. */
export function docOf(node) {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? '';
  return text
    .replaceAll(/\{@link (\w+)[^}]*\}/g, '`$1`')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
