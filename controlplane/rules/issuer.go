package main

import (
	"encoding/json"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/serviceaccount"
)

// issuerMetadata says who issues tokens, and by which key, in the call whose turn it is.
type issuerMetadata struct{ turn *callLock }

var _ serviceaccount.OpenIDMetadataProvider = issuerMetadata{}

func (m issuerMetadata) GetConfigJSON() (text []byte, maxAge int) {
	return m.of(serviceaccount.OpenIDMetadataProvider.GetConfigJSON)
}

func (m issuerMetadata) GetKeysetJSON() (text []byte, maxAge int) {
	return m.of(serviceaccount.OpenIDMetadataProvider.GetKeysetJSON)
}

func (m issuerMetadata) of(get func(serviceaccount.OpenIDMetadataProvider) ([]byte, int)) (text []byte, maxAge int) {
	p, err := metadataOf(m.turn.call.req.Seed)
	if err != nil { // the key of a seed is valid
		klog.ErrorS(err, "No metadata of the issuer")
		text, _ = json.Marshal(map[string]string{"error": err.Error()})
		return text, 0
	}
	return get(p)
}

// metadataOf returns the metadata of the issuer whose key comes from a seed.
func metadataOf(seed string) (serviceaccount.OpenIDMetadataProvider, error) {
	s, err := signerOf(seed)
	if err != nil {
		return nil, err
	}
	keys, err := serviceaccount.StaticPublicKeysGetter([]any{&s.key.PublicKey})
	if err != nil {
		return nil, err
	}
	return serviceaccount.NewOpenIDMetadataProvider(issuer, "", addresses.DefaultAddress, keys)
}
