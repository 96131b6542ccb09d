import { highlight, languageOf } from './highlight.ts';

/** Code in colors. */
export const Code = ({ text, language }: { readonly text: string; readonly language: string }) => {
  const known = languageOf(language);
  if (known === null) return <>{text}</>;
  return (
    <>
      {text.split('\n').map((line, index) => (
        <span key={index}>
          {index > 0 && '\n'}
          <CodeLine text={line} language={language} />
        </span>
      ))}
    </>
  );
};

const CodeLine = ({ text, language }: { readonly text: string; readonly language: string }) => (
  <>
    {highlight(text, languageOf(language)).map(({ text: part, kind }, index) =>
      kind === null ? (
        part
      ) : (
        <span key={index} class={`c-${kind}`}>
          {part}
        </span>
      ),
    )}
  </>
);
