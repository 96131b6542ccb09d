import { Component, type ComponentType, createElement, type FunctionComponent } from 'preact';

/** Renders a component again only if one of its properties is another one. */
export const memo = <Props extends object>(inner: FunctionComponent<Props>): ComponentType<Props> =>
  class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>) {
      const keys = Object.keys(next) as (keyof Props)[];
      return keys.some((key) => next[key] !== (this.props as Props)[key]);
    }
    override render() {
      return createElement(inner as ComponentType<Props>, this.props as Props);
    }
  };
